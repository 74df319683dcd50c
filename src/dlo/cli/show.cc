#include <ostream>
#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/encoding.h"

namespace dlo::cli {
namespace {

constexpr std::size_t shown_payload = 4096;

void line(std::ostream& out, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  out << name << std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') << printable(value)
      << "\n";
}

std::string moment(const JsonValue& record, const char* name, TimePoint now) {
  const auto when = time_of(record, name);
  return when ? to_iso8601(*when) + "  (" + relative(*when, now) + ")" : "";
}

std::string joined(const std::vector<JsonValue>& texts) {
  std::string all;
  for (const JsonValue& each : texts) all += (all.empty() ? "" : ", ") + each.text();
  return all;
}

void print_counts(std::ostream& out, const JsonValue& record) {
  const JsonValue& counters = member(record, "counters");
  std::string rest;
  for (const char* name : {"fetch", "failure", "retry", "abandon", "replay"}) {
    rest += (rest.empty() ? "" : ", ") + std::string(name) + " " + text_of(counters, name);
  }
  line(out, "attempts",
       text_of(counters, "total") + " in all (limit " + text_of(record, "limit") + "; " + rest +
           ")");
}

void print_message(std::ostream& out, const JsonValue& message) {
  line(out, "source", text_of(message, "source"));
  if (!text_of(message, "offset").empty()) {
    line(out, "position", text_of(message, "partition") + "/" + text_of(message, "offset"));
  }
  line(out, "message id", text_of(message, "id"));
  line(out, "type", text_of(message, "event_type"));
  line(out, "key", text_of(message, "key"));
  line(out, "correlation", text_of(message, "correlation_id"));
  line(out, "content type", text_of(message, "content_type"));
  for (const JsonValue& header : member(message, "headers").items) {
    line(out, "header",
         text_of(header, "name") + ": " + bytes_of(header, "value").value_or(std::string()));
  }
}

void print_payload(std::ostream& out, const std::optional<std::string>& payload,
                   const std::string& version) {
  if (!payload) {
    out << "\npayload" << version << ": none (null)\n";
    return;
  }
  out << "\npayload" << version << ", " << payload->size() << " bytes";
  const bool text = is_utf8(*payload);
  out << (text ? ":\n" : ", not text; base64:\n");
  const std::string part = payload->substr(0, shown_payload);
  out << (text ? printable(part) : to_base64(part)) << "\n";
  if (payload->size() > shown_payload) out << "… (-o json has all of it)\n";
}

void print_attempts(Context& context, const std::vector<JsonValue>& attempts) {
  if (attempts.empty()) return;
  context.out << "\nattempts, newest first:\n";
  Table table({{"#", Align::right},
               {"STARTED"},
               {"TOOK", Align::right},
               {"CATEGORY"},
               {"RULE"},
               {"NEXT WAIT", Align::right},
               {"ERROR", Align::left, true}});
  for (const JsonValue& attempt : attempts) {
    const std::string type = text_of(attempt, "error_type");
    const auto wait = number_of(attempt, "next_delay_ms");
    table.add({text_of(attempt, "number"), text_of(attempt, "started_at"),
               text_of(attempt, "took_ms") + "ms", text_of(attempt, "category"),
               text_of(attempt, "rule"), wait == 0 ? "" : std::to_string(wait) + "ms",
               type + (type.empty() ? "" : ": ") + text_of(attempt, "error_text")});
  }
  table.print(context.out, context.width, context.colour);
}

void print_notes(Context& context, const JsonValue& record) {
  for (const JsonValue& version : member(record, "versions").items) {
    line(context.out, "version",
         text_of(version, "number") + "  " + moment(version, "at", context.now) +
             (text_of(version, "by").empty()
                  ? ", as it died"
                  : " by " + text_of(version, "by") + ": " + text_of(version, "why")));
  }
  for (const JsonValue& note : member(record, "notes").items) {
    line(
        context.out, "note",
        moment(note, "at", context.now) + " " + text_of(note, "by") + ": " + text_of(note, "text"));
  }
}

void print_error(Context& context, const JsonValue& record) {
  std::ostream& out = context.out;
  const JsonValue& failure = member(record, "failure");
  const std::string rule = text_of(record, "rule");
  line(out, "reason", text_of(record, "reason"));
  line(out, "description", text_of(record, "description"));
  line(out, "category", text_of(record, "category"));
  line(out, "rule", rule.empty() ? "none fired: a default applied" : rule);
  line(out, "profile", text_of(record, "profile"));
  line(out, "error type", text_of(failure, "type"));
  line(out, "error", text_of(failure, "text"));
  for (const JsonValue& cause : member(failure, "causes").items) {
    const std::string type = text_of(cause, "type");
    line(out, "caused by", (type.empty() ? type : type + ": ") + text_of(cause, "text"));
  }
  const JsonValue& group = member(record, "group");
  line(out, "group", text_of(group, "id") + "  " + text_of(group, "title"));
}

void print_detail(Context& context, const JsonValue& record) {
  std::ostream& out = context.out;
  const auto occurrence = number_of(record, "occurrence");
  line(out, "id", text_of(record, "id"));
  line(out, "status",
       text_of(record, "status") +
           (occurrence > 1 ? "  (occurrence " + std::to_string(occurrence) + ")" : ""));
  print_error(context, record);
  print_counts(out, record);
  line(out, "first attempt", moment(record, "first_attempt_at", context.now));
  line(out, "last failed", moment(record, "last_failed_at", context.now));
  line(out, "died", moment(record, "died_at", context.now));
  line(out, "next retry", moment(record, "next_retry_at", context.now));
  line(out, "handler", text_of(record, "handler"));
  line(out, "node", text_of(record, "node"));
  line(out, "tags", joined(member(record, "tags").items));
  const JsonValue& resolution = member(record, "resolution");
  if (resolution.kind == JsonKind::object) {
    line(out, "resolved",
         moment(resolution, "at", context.now) +
             (text_of(resolution, "by").empty() ? "" : " by " + text_of(resolution, "by")) + ", " +
             text_of(resolution, "how") + " " + text_of(resolution, "notes"));
  }
  print_message(out, member(record, "message"));
  const JsonValue& hold = member(record, "holds_key");
  if (hold.kind == JsonKind::object) {
    line(out, "holds its key", text_of(hold, "waiting") + " wait behind it until it is closed");
  }
  print_notes(context, record);
  print_attempts(context, member(record, "attempts").items);
  const std::string stack = text_of(member(record, "failure"), "stack");
  if (!stack.empty()) out << "\nstack:\n";
  for (std::size_t from = 0; from < stack.size();) {  // its lines stay lines
    const std::size_t end = std::min(stack.find('\n', from), stack.size());
    out << printable(stack.substr(from, end - from)) << "\n";
    from = end + 1;
  }
  // What a replay would send: the newest version, if somebody made one.
  const auto& versions = member(record, "versions").items;
  if (versions.size() < 2) {
    print_payload(out, bytes_of(member(record, "message"), "payload"), "");
  } else {
    const std::string newest = text_of(versions.back(), "number");
    print_payload(out, bytes_of(versions.back(), "payload"),
                  " of version " + newest + " (dlo diff " + text_of(record, "id") +
                      " says what was changed)");
  }
}

}  // namespace

int show(Context& context, const std::vector<std::string>& ids, bool reveal,
         const std::string& form) {
  const auto client = connect(context, reveal ? Need::act : Need::look);
  if (!client) return refuse(context, client.error());
  std::size_t missing = 0;
  std::vector<Reply> found;
  for (const std::string& id : ids) {
    auto reply = ask_for(**client, {"GET", Address("/v1/dead-letters")
                                               .step(id)
                                               .with_some("reveal", reveal ? "true" : "")
                                               .with_some("form", form)
                                               .text()});
    if (!reply && reply.error().code == Code::not_found) {
      refuse(context, reply.error());
      ++missing;
      continue;
    }
    if (!reply) return refuse(context, reply.error());
    found.push_back(std::move(*reply));
  }
  std::vector<JsonValue> records;
  for (const Reply& each : found) records.push_back(each.value);
  const auto people = [&] {
    for (const JsonValue& each : records) {
      if (form.empty()) {
        print_detail(context, each);
      } else {
        context.out << each.raw << "\n";  // its words are the document's: as it stands
      }
    }
  };
  if (ids.size() == 1 && !records.empty()) {
    print_one(context, records.front(), "id", people);
  } else {
    print_all(context, records, "id", people);
  }
  if (missing == ids.size()) return exit_nothing_matched;
  return missing == 0 ? exit_ok : exit_partial;
}

}  // namespace dlo::cli
