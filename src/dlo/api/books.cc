// Numbers and the audit trail.
#include <algorithm>
#include <map>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_trail.h"
#include "dlo/api/groups.h"
#include "dlo/json/json.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

struct SourceCount {
  std::uint64_t total = 0;
  std::uint64_t open = 0;
};

/// S1-34, S1-38: by source, who has most to do first.
void write_sources(JsonWriter& json, const Aggregate& numbers) {
  std::map<std::string, SourceCount> sources;
  for (const Tally& tally : numbers.tallies) {
    if (is_live(tally.status)) continue;
    auto& source = sources[tally.source];
    source.total += tally.count;
    if (is_open(tally.status)) source.open += tally.count;
  }
  std::vector<std::pair<std::string, SourceCount>> sorted(sources.begin(), sources.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.open > b.second.open; });
  json.key("sources").begin_array();
  for (const auto& [name, count] : sorted) {
    json.begin_object()
        .member("source", name)
        .member("total", count.total)
        .member("open", count.open)
        .end_object();
  }
  json.end_array();
}

void write_statuses(JsonWriter& json, const Aggregate& numbers) {
  std::uint64_t open = 0;
  json.key("statuses").begin_object();
  for (const Status status : all_statuses()) {
    std::uint64_t count = 0;
    for (const Tally& tally : numbers.tallies) count += tally.status == status ? tally.count : 0;
    if (is_open(status)) open += count;
    json.member(name_of(status), count);
  }
  json.end_object().member("open", open);
}

HttpResponse stats(Office& office, const Request&) {
  const auto numbers = office.aggregate({});
  if (!numbers) return problem_of(numbers.error());
  JsonWriter json;
  json.begin_object();
  write_statuses(json, *numbers);
  write_sources(json, *numbers);
  json.key("counts").begin_array();
  for (const Tally& tally : numbers->tallies) {
    json.begin_object()
        .member("source", tally.source)
        .member("status", name_of(tally.status))
        .member("category", tally.category)
        .member("count", tally.count)
        .end_object();
  }
  json.end_array()
      .member("last_change", numbers->last_change)
      .member("unindexed_payloads", numbers->unindexed_payloads)
      .end_object();
  return json_answer(json.take());
}

}  // namespace

std::vector<Route> book_routes(Office& office) {
  return {
      {"GET",
       "/v1/stats",
       Role::reader,
       Lane::quick,
       {},
       answering([&office](const Request& request) { return stats(office, request); })},
      {"GET",
       "/v1/audit",
       Role::reader,
       Lane::slow,
       {"after", "before", "order", "limit", "actor", "act", "subject", "since", "until",
        "refused"},
       answering([&office](const Request& request) { return audit_trail(office, request); })},
  };
}

}  // namespace dlo::api
