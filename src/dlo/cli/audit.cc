#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/encoding.h"
#include "dlo/json/json.h"
#include "dlo/store/office.h"

namespace dlo::cli {
namespace {

constexpr std::size_t page = 1'000;

/// Calls `each` with the trail, part by part, and the entry ahead of the part.
Result<void> walk(Office& office, std::uint64_t after, std::uint64_t most,
                  const std::function<void(std::span<const AuditEntry>)>& each) {
  while (most > 0) {
    const auto part = office.extras().ledger->audit(after, std::min<std::uint64_t>(most, page));
    if (!part) return part.error();
    if (part->empty()) return {};
    each(*part);
    most -= part->size();
    after = part->back().number;
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
  if (context.format == Format::csv) {
    table.print_csv(context.out);
  } else {
    table.print(context.out, context.width);
  }
}

}  // namespace

int audit_list(Context& context, const AuditArguments& arguments) {
  auto office = open_for_reading(context);
  if (!office) return fail(context, office.error());
  std::vector<AuditEntry> rows;  // of a table, whose columns fit all of it
  std::uint64_t count = 0;
  const bool lines = context.format == Format::json || context.format == Format::ndjson;
  const auto walked =
      walk(**office, arguments.after, arguments.limit, [&](std::span<const AuditEntry> part) {
        count += part.size();
        for (const AuditEntry& each : part) {
          if (lines) context.out << to_json(each) << "\n";
          if (!lines) rows.push_back(each);
        }
      });
  if (!walked) return fail(context, walked.error());
  if (count == 0) {
    if (!lines) context.out << "Nothing was done yet.\n";
    return exit_nothing_matched;
  }
  if (!lines) print_rows(context, rows);
  return exit_ok;
}

int audit_verify(Context& context, const AuditArguments& arguments) {
  auto office = open_for_reading(context);
  if (!office) return fail(context, office.error());
  std::optional<AuditEntry> last;
  std::optional<std::uint64_t> broken;
  bool head_seen = arguments.head.empty();
  const auto walked = walk(**office, 0, UINT64_MAX, [&](std::span<const AuditEntry> part) {
    if (!broken) broken = first_broken(part, last ? &*last : nullptr);
    for (const AuditEntry& each : part) head_seen = head_seen || each.hash == arguments.head;
    last = part.back();
  });
  if (!walked) return fail(context, walked.error());
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
