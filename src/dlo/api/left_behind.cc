#include "dlo/api/left_behind.h"

#include <optional>
#include <utility>
#include <vector>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/core/acts.h"
#include "dlo/core/spelling.h"
#include "dlo/core/unserved.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::size_t at_once = 500;
constexpr std::size_t of_one_call = 10'000;  // whoever has more asks again

using Numbers = std::map<std::string, std::uint64_t>;

Change death_of(const RecordHead& waiting, TimePoint now) {
  Transition death;
  death.id = waiting.id;
  death.expected_version = waiting.version;
  death.to = Status::pending;
  death.now = now;
  death.died_at = now;
  death.clear_next_retry = true;
  death.reason = unserved_reason;
  death.description = unserved_description(waiting.source);
  return death;
}

/// Together if nobody else moved one of them meanwhile, else each by itself.
Result<std::size_t> bury(Office& office, const std::vector<Change>& deaths) {
  const auto together = office.apply(deaths);
  if (together) return deaths.size();
  if (is_retryable(together.error().code)) return together.error();
  std::size_t buried = 0;
  for (const Change& each : deaths) {
    const auto alone = office.apply({&each, 1});
    if (!alone && is_retryable(alone.error().code)) return alone.error();
    if (alone) ++buried;
  }
  return buried;
}

Result<std::size_t> give_up(Office& office, const std::string& source, TimePoint now) {
  Query query;
  query.statuses = {Status::waiting, Status::parked};
  query.source = source;
  query.limit = at_once;
  std::size_t buried = 0;
  while (buried < of_one_call) {
    const auto page = office.list(query);
    if (!page) return page.error();
    std::vector<Change> deaths;
    for (const RecordHead& each : page->rows) deaths.push_back(death_of(each, now));
    if (!deaths.empty()) {
      const auto done = bury(office, deaths);
      if (!done) return done.error();
      buried += *done;
    }
    if (!page->next) break;
    query.after = page->next;
  }
  return buried;
}

HttpResponse answer(Office& office, const IsServed& served, const Request& request) {
  std::optional<std::uint64_t> expected;
  const auto read = read_body(request, [&](JsonFields& fields) {
    if (fields.has("count")) expected = fields.number("count");
  });
  if (!read) return problem_of(read.error());
  const std::string& source = request.path.front();
  if (served(source)) {
    return problem(409, "conflict",
                   "Messages of " + in_quotes(source) +
                       " are run here: what waits runs when it is due. Take the source out of the "
                       "configuration first if they are to be given up.");
  }
  const auto before = live_by_source(office);
  if (!before) return problem_of(before.error());
  const auto found = before->find(source);
  const std::uint64_t there = found == before->end() ? 0 : found->second;
  if (expected) {
    if (const auto agreed = check_count(there, *expected); !agreed) {
      return problem_of(agreed.error());
    }
  }
  JsonWriter said;
  said.begin_object().member("waiting", there).end_object();
  const std::vector<Change> trail{audit_of(request, "give-up", "source/" + source, said.take())};
  if (there > 0) {
    if (const auto noted = office.apply(trail); !noted) return problem_of(noted.error());
  }
  const auto buried = give_up(office, source, request.now);
  if (!buried) return problem_of(buried.error());
  const auto after = live_by_source(office);
  if (!after) return problem_of(after.error());
  const auto left = after->find(source);
  JsonWriter json;
  json.begin_object().member("source", source).member("dead", *buried);
  json.member("waiting", left == after->end() ? 0 : left->second).end_object();
  return json_answer(json.take());
}

}  // namespace

Result<Numbers> live_by_source(Office& office) {
  const auto numbers = office.aggregate({});
  if (!numbers) return numbers.error();
  Numbers live;
  for (const Tally& tally : numbers->tallies) {
    if (is_live(tally.status)) live[tally.source] += tally.count;
  }
  return live;
}

Result<Numbers> left_behind(Office& office, const IsServed& served) {
  auto live = live_by_source(office);
  if (!live) return live;
  std::erase_if(*live, [&](const auto& each) { return served(each.first); });
  return live;
}

Route give_up_route(Office& office, IsServed served) {
  return {"POST",
          "/v1/sources/{source}/give-up",
          Role::operator_,
          Lane::slow,
          {},
          answering([&office, served = std::move(served)](const Request& request) {
            return answer(office, served, request);
          })};
}

}  // namespace dlo::api
