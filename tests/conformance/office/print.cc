// Everything in writing: tests compare prints, and a failed comparison shows the field that
// differs.

#include <algorithm>

#include "conformance/office/office_suite.h"

#include "dlo/core/sha256.h"

namespace dlo::testing {
namespace {

class Paper {
 public:
  Paper& text(std::string_view name, std::string_view value) {
    // Long bytes are named by their digest: two megabytes in a test log help nobody.
    const bool whole = value.size() <= 200;
    return line(name, std::to_string(value.size()) + " bytes " +
                          (whole ? escaped(value) : to_hex(sha256(value))));
  }
  Paper& number(std::string_view name, std::uint64_t value) {
    return line(name, std::to_string(value));
  }
  Paper& signed_number(std::string_view name, std::int64_t value) {
    return line(name, std::to_string(value));
  }
  Paper& time(std::string_view name, TimePoint value) {
    return signed_number(name, value.time_since_epoch().count());
  }
  Paper& time(std::string_view name, const std::optional<TimePoint>& value) {
    return value ? time(name, *value) : line(name, "none");
  }
  Paper& bytes(std::string_view name, const std::optional<std::string>& value) {
    return value ? text(name, *value) : line(name, "none");
  }
  Paper& id(std::string_view name, const Id128& value) { return line(name, to_string(value)); }
  Paper& line(std::string_view name, std::string_view value) {
    paper_ += std::string(name) + ": " + std::string(value) + "\n";
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(paper_); }

 private:
  static std::string escaped(std::string_view value) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte < 0x7F && c != '\\') {
        out += c;
      } else {
        out += {'\\', digits[byte >> 4U], digits[byte & 15U]};
      }
    }
    return out;
  }
  std::string paper_;
};

void put(Paper& paper, const Headers& headers) {
  paper.number("headers", headers.size());
  if (headers.size() <= 100) {
    for (const Header& header : headers) {
      paper.text("  name", header.name).text("  value", header.value);
      paper.number("  type", static_cast<std::uint64_t>(header.type));
    }
    return;
  }
  std::string all;
  for (const Header& header : headers) {
    all += std::to_string(header.name.size()) + "," + std::to_string(header.value.size()) + "," +
           std::to_string(static_cast<int>(header.type)) + ";" + header.name + header.value;
  }
  paper.text("all headers", all);
}

void put(Paper& paper, const Counters& c) {
  paper.line("counters", std::to_string(c.fetch) + " " + std::to_string(c.attempt) + " " +
                             std::to_string(c.failure) + " " + std::to_string(c.abandon) + " " +
                             std::to_string(c.retry) + " " + std::to_string(c.replay) + " " +
                             std::to_string(c.total));
}

void put(Paper& paper, const Failure& failure) {
  paper.text("error type", failure.type).text("error text", failure.text);
  paper.text("error code", failure.code).text("stack", failure.stack);
  paper.line("http status", failure.status ? std::to_string(*failure.status) : "none");
  paper.line("retry after",
             failure.retry_after ? std::to_string(failure.retry_after->count()) : "none");
  for (const Cause& cause : failure.causes) {
    paper.text("cause type", cause.type).text("cause text", cause.text);
  }
}

}  // namespace

std::string print(const Message& message) {
  Paper paper;
  paper.text("message id", message.id).text("source", message.source);
  if (message.position) {
    paper.text("partition", message.position->partition);
    paper.signed_number("offset", message.position->offset);
  }
  paper.text("event type", message.event_type).text("key", message.key);
  paper.text("correlation", message.correlation_id).text("content", message.content_type);
  put(paper, message.headers);
  paper.bytes("payload", message.payload);
  paper.time("enqueued", message.enqueued_at).time("message expires", message.expires_at);
  paper.number("priority", static_cast<std::uint64_t>(message.priority));
  if (message.owner) {
    paper.text("instance", message.owner->instance).text("parent", message.owner->parent);
    paper.number("execution", message.owner->execution);
    if (message.owner->activity) {
      paper.text("activity", message.owner->activity->name);
      paper.number("activity id", message.owner->activity->id);
    }
  }
  return paper.take();
}

std::string print(const DeadLetter& record, bool assigned) {
  Paper paper;
  paper.id("id", record.id).number("occurrence", record.occurrence);
  paper.line("status", name_of(record.status)).text("profile", record.profile);
  paper.text("reason", record.reason).text("description", record.description);
  paper.text("category", record.category).text("rule", record.rule);
  put(paper, record.failure);
  paper.id("group", record.fingerprint.hash).text("title", record.fingerprint.title);
  paper.text("basis", record.fingerprint.basis);
  put(paper, record.counters);
  paper.number("limit", record.limit).text("policy", record.policy);
  paper.time("first attempt", record.first_attempt_at).time("first failed", record.first_failed_at);
  paper.time("last failed", record.last_failed_at).time("died", record.died_at);
  paper.time("next retry", record.next_retry_at).time("expires", record.expires_at);
  paper.text("handler", record.handler).text("node", record.node).text("build", record.build);
  paper.text("metadata", record.metadata);
  for (const RecordId& id : record.depends_on) paper.id("depends on", id);
  for (const std::string& tag : record.tags) paper.text("tag", tag);
  if (record.resolution) {
    paper.time("resolved at", record.resolution->at).text("by", record.resolution->by);
    paper.text("how", record.resolution->how).text("notes", record.resolution->notes);
  }
  paper.number("unsettled", record.source_unsettled ? 1 : 0);
  if (assigned) {
    paper.number("version", record.version).number("change", record.change);
    paper.signed_number("number", record.number).number("died", record.died ? 1 : 0);
  }
  return paper.take() + print(*record.message);
}

std::string print(const Attempt& attempt) {
  Paper paper;
  paper.number("attempt", attempt.number).time("started", attempt.started_at);
  paper.signed_number("took", attempt.took.count());
  paper.number("outcome", static_cast<std::uint64_t>(attempt.outcome));
  paper.text("category", attempt.category).text("rule", attempt.rule);
  paper.text("type", attempt.error_type).text("text", attempt.error_text);
  paper.signed_number("next delay", attempt.next_delay.count()).text("node", attempt.node);
  return paper.take();
}

std::string print(const RecordDetail& detail) {
  Paper paper;
  for (const Version& version : detail.versions) {
    paper.number("version number", version.number).time("at", version.at);
    paper.text("by", version.by).text("why", version.why);
    put(paper, version.headers);
    paper.bytes("payload", version.payload);
  }
  std::string out = print(detail.record);
  for (const Attempt& attempt : detail.attempts) out += print(attempt);
  return out + paper.take();
}

std::string print(const GroupSummary& group) {
  Paper paper;
  paper.id("fingerprint", group.fingerprint).text("title", group.title);
  paper.line("status", name_of(group.status)).text("owner", group.owner);
  paper.text("ticket", group.ticket).text("notes", group.notes);
  paper.time("snoozed until", group.snoozed_until);
  paper.number("open", group.open).number("total", group.total);
  paper.time("first seen", group.first_seen).time("last seen", group.last_seen);
  paper.number("version", group.version).number("repeats", group.repeats);
  paper.number("strands", group.strands);
  paper.time("resolved", group.resolved_at).time("regressed", group.regressed_at);
  for (const std::string& tag : group.tags) paper.text("tag", tag);
  for (const auto* buckets : {&group.trend.hours, &group.trend.days}) {
    for (const TrendBucket& bucket : *buckets) {
      paper.number("from", static_cast<std::uint64_t>(bucket.start)).number("died", bucket.count);
    }
  }
  paper.id("sample", group.sample).text("category", group.category).text("source", group.source);
  return paper.take();
}

std::string print(Office& office, const std::vector<std::string>& document_kinds) {
  Paper paper;
  std::string out;
  std::vector<RecordId> ids;
  for (const ChangeNote& note : must(office.changes_since(0, 100'000))) {
    paper.number("changed", note.change).id("record", note.id).line("as", name_of(note.status));
    ids.push_back(note.id);
  }
  for (const RecordId& id : ids) out += print(must(office.get(id)));
  AggregateRequest everything;
  everything.groups = 100'000;
  const Aggregate numbers = must(office.aggregate(everything));
  paper.number("last change", numbers.last_change);
  for (const Tally& tally : numbers.tallies) {
    paper.text("source", tally.source).line("status", name_of(tally.status));
    paper.text("category", tally.category).number("count", tally.count);
  }
  for (const PolicyTally& tally : numbers.policies) {
    paper.line("status", name_of(tally.status)).line("policy", name_of(tally.kind));
    paper.number("count", tally.count);
  }
  for (const GroupSummary& group : numbers.groups) out += print(group);
  Ledger* ledger = office.extras().ledger;
  for (const std::string& kind : document_kinds) {
    for (const Document& document : must(ledger->documents(kind, "", 100'000))) {
      paper.text("kind", kind).text("key", document.key).text("body", document.body);
      paper.number("version", document.version);
    }
  }
  for (const AuditEntry& entry : must(ledger->audit(0, 100'000))) {
    paper.number("audit", entry.number).text("act", entry.act.act).line("hash", entry.hash);
  }
  return out + paper.take();
}

}  // namespace dlo::testing
