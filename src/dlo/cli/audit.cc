#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/encoding.h"
#include "dlo/json/json.h"
#include "dlo/json/writer.h"
#include "dlo/store/office.h"

namespace dlo::cli {
namespace {

constexpr std::uint64_t page = 1'000;

std::string address_of(const AuditArguments& arguments, const std::string& from,
                       std::uint64_t most) {
  std::string acts;
  for (const std::string& each : arguments.acts) acts += (acts.empty() ? "" : ",") + each;
  return Address("/v1/audit")
      .with_some(arguments.newest ? "before" : "after", from)
      .with_some("order", arguments.newest ? "newest" : "")
      .with("limit", std::to_string(std::min(most, page)))
      .with_some("actor", arguments.actor)
      .with_some("act", acts)
      .with_some("subject", arguments.subject)
      .with_some("since", arguments.since)
      .with_some("until", arguments.until)
      .with_some("refused", arguments.refused ? "true" : "")
      .text();
}

/// Calls `each` with the trail, part by part.
Result<void> walk(Client& client, const AuditArguments& arguments, std::uint64_t most,
                  const std::function<void(std::span<const AuditEntry>)>& each) {
  std::string from = arguments.after > 0 ? std::to_string(arguments.after) : "";
  while (most > 0) {
    const auto reply = ask_for(client, {"GET", address_of(arguments, from, most)});
    if (!reply) return reply.error();
    std::vector<AuditEntry> part;
    for (const JsonValue& entry : member(reply->value, "entries").items) {
      auto parsed = parse_audit_entry(entry.raw);
      if (!parsed) return parsed.error();
      part.push_back(std::move(*parsed));
    }
    if (!part.empty()) each(part);
    most -= std::min<std::uint64_t>(most, part.size());
    from = text_of(reply->value, "next");
    if (from.empty()) return {};
  }
  return {};
}

bool is_filtered(const AuditArguments& arguments) {
  return arguments.refused || arguments.after > 0 || !arguments.actor.empty() ||
         !arguments.acts.empty() || !arguments.subject.empty() || !arguments.since.empty() ||
         !arguments.until.empty();
}

void print_rows(Context& context, const std::vector<AuditEntry>& entries) {
  Table table({{"NUMBER", Align::right},
               {"WHEN"},
               {"WHO"},
               {"ACT"},
               {"SUBJECT"},
               {"DETAIL", Align::left, true}});
  for (const AuditEntry& each : entries) {
    table.add({std::to_string(each.number), to_iso8601(each.act.at), each.act.actor, each.act.act,
               each.act.subject, each.act.detail});
  }
  print(context, table);
}

/// What programs are told of a verification.
void print_verdict(Context& context, const std::optional<AuditEntry>& last,
                   const std::optional<std::uint64_t>& broken, bool head_seen) {
  JsonWriter json;
  json.begin_object().key("whole").boolean(!broken && head_seen);
  json.member("entries", last ? last->number : 0).member("head", last ? last->hash : "");
  json.key("broken_at");
  if (broken) {
    json.number(*broken);
  } else {
    json.null();
  }
  json.key("head_seen").boolean(head_seen).end_object();
  const std::string text = json.take();
  const auto value = parse_json(text);
  if (value) print_one(context, *value, "head", [] {});
}

}  // namespace

int audit_list(Context& context, const AuditArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  std::vector<AuditEntry> rows;  // of a table, whose columns fit all of it
  std::uint64_t count = 0;
  std::uint64_t last = 0;
  const bool array = context.format == Format::json;
  if (array) context.out << "[";
  const auto print_entry = [&](const AuditEntry& each) {
    const bool first = count++ == 0;
    if (array) {
      context.out << (first ? "" : ",\n") << to_json(each);
    } else if (context.format == Format::ndjson) {
      context.out << to_json(each) << "\n";
    } else if (context.format == Format::id) {
      context.out << each.number << "\n";
    } else {
      rows.push_back(each);
    }
  };
  // Programs are given everything, people a screenful, unless they say otherwise.
  const bool everything = arguments.all || (!arguments.limited && !is_for_people(context));
  const std::uint64_t most = everything ? UINT64_MAX : arguments.limit;
  const auto walked = walk(**client, arguments, most, [&](std::span<const AuditEntry> part) {
    for (const AuditEntry& each : part) print_entry(each);
    last = part.back().number;
  });
  if (array) context.out << "]\n";
  if (!walked) return refuse(context, walked.error());
  if (count == 0) {
    context.err << (is_filtered(arguments) ? "Nothing like that was done.\n"
                                           : "Nothing was done yet.\n");
  }
  if (!rows.empty()) print_rows(context, rows);
  if (count == most) {
    context.err << "There may be more: "
                << (arguments.newest ? "say a larger --limit"
                                     : "add --after " + std::to_string(last))
                << ", or --all.\n";
  }
  return count == 0 ? exit_nothing_matched : exit_ok;
}

int audit_verify(Context& context, const AuditArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  std::optional<AuditEntry> last;
  std::optional<std::uint64_t> broken;
  bool head_seen = arguments.head.empty();
  // The chain is checked here, not where it is kept: who changed it could answer anything.
  const auto walked = walk(**client, {}, UINT64_MAX, [&](std::span<const AuditEntry> part) {
    if (!broken) broken = first_broken(part, last ? &*last : nullptr);
    for (const AuditEntry& each : part) head_seen = head_seen || each.hash == arguments.head;
    last = part.back();
  });
  if (!walked) return refuse(context, walked.error());
  if (!is_for_people(context)) print_verdict(context, last, broken, head_seen);
  if (broken) {
    context.err
        << "The audit trail is broken at entry " << *broken
        << ": it was changed, removed or moved after it was written. Entries before it are "
           "as they were written; do not trust those from there on. Compare with a backup.\n";
    return exit_error;
  }
  if (!head_seen) {
    context.err << "The audit trail is whole, but no entry has the hash " << arguments.head
                << ": its end was cut off, or it is another office's.\n";
    return exit_error;
  }
  if (!is_for_people(context)) return exit_ok;
  if (!last) {
    context.out << "The audit trail is empty.\n";
    return exit_ok;
  }
  context.out << "All " << last->number
              << " entries are as they were written. Keep this to find out "
              << "later whether the end was cut off:\n  dlo audit verify --head " << last->hash
              << "\n";
  return exit_ok;
}

}  // namespace dlo::cli
