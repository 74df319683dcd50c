#include <ostream>

#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/encoding.h"
#include "dlo/json/json.h"
#include "dlo/store/office.h"

namespace dlo::cli {
namespace {

constexpr std::size_t shown_payload = 4096;

void line(std::ostream& out, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  out << name << std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') << printable(value)
      << "\n";
}

std::string moment(const std::optional<TimePoint>& when, TimePoint now) {
  return when ? to_iso8601(*when) + "  (" + relative(*when, now) + ")" : "";
}

void print_counts(std::ostream& out, const DeadLetter& record) {
  const Counters& c = record.counters;
  line(out, "attempts",
       std::to_string(c.total) + " in all (limit " + std::to_string(record.limit) + "; fetch " +
           std::to_string(c.fetch) + ", failure " + std::to_string(c.failure) + ", retry " +
           std::to_string(c.retry) + ", abandon " + std::to_string(c.abandon) + ", replay " +
           std::to_string(c.replay) + ")");
}

void print_message(std::ostream& out, const Message& message) {
  line(out, "source", message.source);
  if (message.position) {
    line(out, "position",
         message.position->partition + "/" + std::to_string(message.position->offset));
  }
  line(out, "message id", message.id);
  line(out, "type", message.event_type);
  line(out, "key", message.key);
  line(out, "correlation", message.correlation_id);
  line(out, "content type", message.content_type);
  for (const Header& header : message.headers) {
    line(out, "header", header.name + ": " + header.value);
  }
}

void print_payload(std::ostream& out, const std::optional<std::string>& payload) {
  if (!payload) {
    out << "\npayload: none (null)\n";
    return;
  }
  out << "\npayload, " << payload->size() << " bytes";
  const bool text = is_utf8(*payload);
  out << (text ? ":\n" : ", not text; base64:\n");
  const std::string part = payload->substr(0, shown_payload);
  out << (text ? printable(part) : to_base64(part)) << "\n";
  if (payload->size() > shown_payload) out << "… (-o json has all of it)\n";
}

void print_attempts(Context& context, const std::vector<Attempt>& attempts) {
  if (attempts.empty()) return;
  context.out << "\nattempts, newest first:\n";
  Table table({{"#", Align::right},
               {"STARTED"},
               {"TOOK", Align::right},
               {"CATEGORY"},
               {"RULE"},
               {"NEXT WAIT", Align::right},
               {"ERROR", Align::left, true}});
  for (const Attempt& attempt : attempts) {
    table.add(
        {std::to_string(attempt.number), to_iso8601(attempt.started_at),
         std::to_string(attempt.took.count()) + "ms", attempt.category, attempt.rule,
         attempt.next_delay.count() == 0 ? "" : std::to_string(attempt.next_delay.count()) + "ms",
         attempt.error_type + (attempt.error_type.empty() ? "" : ": ") + attempt.error_text});
  }
  table.print(context.out, context.width);
}

void print_detail(Context& context, const RecordDetail& detail) {
  const DeadLetter& record = detail.record;
  std::ostream& out = context.out;
  line(out, "id", to_string(record.id));
  line(out, "status",
       std::string(name_of(record.status)) +
           (record.occurrence > 1 ? "  (occurrence " + std::to_string(record.occurrence) + ")"
                                  : ""));
  line(out, "reason", record.reason);
  line(out, "description", record.description);
  line(out, "category", record.category);
  line(out, "rule", record.rule.empty() ? "none fired: a default applied" : record.rule);
  line(out, "profile", record.profile);
  line(out, "error type", record.failure.type);
  line(out, "error", record.failure.text);
  for (const Cause& cause : record.failure.causes) {
    line(out, "caused by", cause.type + ": " + cause.text);
  }
  line(out, "group", to_string(record.fingerprint.hash) + "  " + record.fingerprint.title);
  print_counts(out, record);
  line(out, "first attempt", moment(record.first_attempt_at, context.now));
  line(out, "last failed", moment(record.last_failed_at, context.now));
  line(out, "died", moment(record.died_at, context.now));
  line(out, "next retry", moment(record.next_retry_at, context.now));
  line(out, "handler", record.handler);
  line(out, "node", record.node);
  if (record.resolution) {
    line(out, "resolved",
         moment(record.resolution->at, context.now) + " by " + record.resolution->by + ", " +
             record.resolution->how + " " + record.resolution->notes);
  }
  print_message(out, *record.message);
  print_attempts(context, detail.attempts);
  if (!record.failure.stack.empty()) out << "\nstack:\n" << record.failure.stack << "\n";
  print_payload(out, record.message->payload);
}

}  // namespace

int show(Context& context, const std::vector<std::string>& ids) {
  const auto office = open_for_reading(context);
  if (!office) return fail(context, office.error());
  std::size_t missing = 0;
  for (const std::string& text : ids) {
    const auto id = parse_id(text);
    if (!id) {
      context.err << "dlo: '" << printable(text)
                  << "' is not an id: 32 hex digits, as 'dlo list -o id' prints them.\n";
      return exit_usage;
    }
    const auto detail = (*office)->get(RecordId{*id});
    if (!detail && detail.error().code == Code::not_found) {
      context.err << "dlo: there is no record " << text << ".\n";
      ++missing;
      continue;
    }
    if (!detail) return fail(context, detail.error());
    if (context.format == Format::json || context.format == Format::ndjson) {
      context.out << to_json(*detail) << "\n";
    } else if (context.format == Format::id) {
      context.out << text << "\n";
    } else {
      print_detail(context, *detail);
    }
  }
  if (missing == ids.size()) return exit_nothing_matched;
  return missing == 0 ? exit_ok : exit_partial;
}

}  // namespace dlo::cli
