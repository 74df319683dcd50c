#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/encoding.h"
#include "dlo/json/json.h"
#include "dlo/store/office.h"

namespace dlo::cli {
namespace {

constexpr std::uint64_t page = 1'000;

/// Calls `each` with the trail, part by part.
Result<void> walk(Client& client, std::uint64_t after, std::uint64_t most,
                  const std::function<void(std::span<const AuditEntry>)>& each) {
  while (most > 0) {
    Ask ask{"GET", Address("/v1/audit")
                       .with("after", std::to_string(after))
                       .with("limit", std::to_string(std::min(most, page)))
                       .text()};
    const auto reply = ask_for(client, ask);
    if (!reply) return reply.error();
    std::vector<AuditEntry> part;
    for (const JsonValue& entry : member(reply->value, "entries").items) {
      auto parsed = parse_audit_entry(entry.raw);
      if (!parsed) return parsed.error();
      part.push_back(std::move(*parsed));
    }
    if (part.empty()) return {};
    each(part);
    most -= std::min<std::uint64_t>(most, part.size());
    after = part.back().number;
  }
  return {};
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

}  // namespace

int audit_list(Context& context, const AuditArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  std::vector<AuditEntry> rows;  // of a table, whose columns fit all of it
  std::uint64_t count = 0;
  const bool lines = context.format == Format::json || context.format == Format::ndjson;
  const auto walked =
      walk(**client, arguments.after, arguments.limit, [&](std::span<const AuditEntry> part) {
        count += part.size();
        for (const AuditEntry& each : part) {
          if (lines) context.out << to_json(each) << "\n";
          if (!lines) rows.push_back(each);
        }
      });
  if (!walked) return refuse(context, walked.error());
  if (count == 0) {
    context.err << "Nothing was done yet.\n";
    return exit_nothing_matched;
  }
  if (!lines) print_rows(context, rows);
  return exit_ok;
}

int audit_verify(Context& context, const AuditArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  std::optional<AuditEntry> last;
  std::optional<std::uint64_t> broken;
  bool head_seen = arguments.head.empty();
  // The chain is checked here, not where it is kept: who changed it could answer anything.
  const auto walked = walk(**client, 0, UINT64_MAX, [&](std::span<const AuditEntry> part) {
    if (!broken) broken = first_broken(part, last ? &*last : nullptr);
    for (const AuditEntry& each : part) head_seen = head_seen || each.hash == arguments.head;
    last = part.back();
  });
  if (!walked) return refuse(context, walked.error());
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
