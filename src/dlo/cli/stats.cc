#include <map>
#include <ostream>

#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/json/json.h"
#include "dlo/store/office.h"

namespace dlo::cli {
namespace {

constexpr std::size_t top_groups = 10;

void print_sources(Context& context, const std::vector<Tally>& tallies) {
  struct Sums {
    std::uint64_t open = 0;
    std::uint64_t closed = 0;
    std::uint64_t live = 0;
  };
  std::map<std::string, Sums> sources;
  for (const Tally& tally : tallies) {
    Sums& sums = sources[tally.source];
    if (is_live(tally.status)) {
      sums.live += tally.count;
    } else if (is_open(tally.status)) {
      sums.open += tally.count;
    } else {
      sums.closed += tally.count;
    }
  }
  Table table(
      {{"SOURCE"}, {"OPEN", Align::right}, {"CLOSED", Align::right}, {"WAITING", Align::right}});
  for (const auto& [source, sums] : sources) {
    table.add({source, std::to_string(sums.open), std::to_string(sums.closed),
               std::to_string(sums.live)});
  }
  table.print(context.out, context.width);
}

void print_tallies(Context& context, const std::vector<Tally>& tallies) {
  Table table({{"SOURCE"}, {"STATUS"}, {"CATEGORY"}, {"COUNT", Align::right}});
  for (const Tally& tally : tallies) {
    table.add({tally.source, std::string(name_of(tally.status)), tally.category,
               std::to_string(tally.count)});
  }
  if (context.format == Format::csv) {
    table.print_csv(context.out);
  } else {
    table.print(context.out, context.width);
  }
}

void print_groups(Context& context, const std::vector<GroupSummary>& groups) {
  Table table({{"GROUP"},
               {"OPEN", Align::right},
               {"EVER", Align::right},
               {"CATEGORY"},
               {"SOURCE"},
               {"FIRST"},
               {"LAST"},
               {"TITLE", Align::left, true}});
  for (const GroupSummary& group : groups) {
    table.add({to_string(group.fingerprint), std::to_string(group.open),
               std::to_string(group.total), group.category, group.source,
               relative(group.first_seen, context.now), relative(group.last_seen, context.now),
               group.title});
  }
  table.print(context.out, context.width);
}

}  // namespace

int stats(Context& context) {
  const auto office = open_for_reading(context);
  if (!office) return fail(context, office.error());
  AggregateRequest request;
  request.groups = top_groups;
  request.group_order = GroupOrder::open_count;
  const auto numbers = (*office)->aggregate(request);
  if (!numbers) return fail(context, numbers.error());
  if (context.format == Format::json || context.format == Format::ndjson) {
    context.out << to_json(*numbers) << "\n";
    return exit_ok;
  }
  if (numbers->tallies.empty()) {
    context.err << "The office is empty.\n";
    return exit_nothing_matched;
  }
  if (context.format == Format::csv || context.format == Format::wide) {
    print_tallies(context, numbers->tallies);
    return exit_ok;
  }
  print_sources(context, numbers->tallies);
  context.out << "\n";
  print_groups(context, numbers->groups);
  if (numbers->unindexed_payloads > 0) {
    context.out << "\n" << numbers->unindexed_payloads << " payloads are not searchable yet.\n";
  }
  return exit_ok;
}

}  // namespace dlo::cli
