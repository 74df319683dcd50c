#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/states.h"

namespace dlo::cli {
namespace {

constexpr const char* top_groups = "20";

struct Sums {
  std::uint64_t open = 0;
  std::uint64_t closed = 0;
  std::uint64_t live = 0;
};

void print_sources(Context& context, const JsonValue& counts) {
  std::map<std::string, Sums> sources;
  for (const JsonValue& tally : counts.items) {
    Sums& sums = sources[text_of(tally, "source")];
    const auto status = parse_status(text_of(tally, "status"));
    auto& sum = status && is_live(*status)   ? sums.live
                : status && is_open(*status) ? sums.open
                                             : sums.closed;
    sum += number_of(tally, "count");
  }
  Table table(
      {{"SOURCE"}, {"OPEN", Align::right}, {"CLOSED", Align::right}, {"WAITING", Align::right}});
  // Who has most to do comes first (S1-34, S1-38).
  std::vector<std::pair<std::string, Sums>> sorted(sources.begin(), sources.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.open > b.second.open; });
  for (const auto& [source, sums] : sorted) {
    table.add({source, std::to_string(sums.open), std::to_string(sums.closed),
               std::to_string(sums.live)});
  }
  print(context, table);
}

void print_tallies(Context& context, const JsonValue& counts) {
  Table table({{"SOURCE"}, {"STATUS"}, {"CATEGORY"}, {"COUNT", Align::right}});
  for (const JsonValue& tally : counts.items) {
    table.add({text_of(tally, "source"), text_of(tally, "status"), text_of(tally, "category"),
               text_of(tally, "count")});
  }
  print(context, table);
}

int show_numbers(Context& context, Client& client) {
  const auto numbers = ask_for(client, {"GET", "/v1/stats"});
  if (!numbers) return refuse(context, numbers.error());
  if (context.format == Format::json || context.format == Format::ndjson) {
    context.out << *numbers->text;
    return exit_ok;
  }
  if (context.format == Format::id) return refuse_ids(context, "An account of numbers");
  const JsonValue& counts = member(numbers->value, "counts");
  if (counts.items.empty()) {
    context.err << "The office is empty.\n";
    return exit_nothing_matched;
  }
  if (context.format == Format::csv || context.format == Format::wide) {
    print_tallies(context, counts);
    return exit_ok;
  }
  const auto groups = ask_for(
      client,
      {"GET", Address("/v1/groups").with("order", "open").with("limit", top_groups).text()});
  if (!groups) return refuse(context, groups.error());
  print_sources(context, counts);
  context.out << "\n";
  print_groups(context, member(groups->value, "groups").items);
  if (const auto late = number_of(numbers->value, "unindexed_payloads"); late > 0) {
    context.out << "\n" << late << " payloads are not searchable yet.\n";
  }
  return exit_ok;
}

}  // namespace

int stats(Context& context, const WatchArguments& watch) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  return watched(context, watch, [&] { return show_numbers(context, **client); });
}

}  // namespace dlo::cli
