// Start marks, renewals, and what becomes of a message when its lease ends.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "dlo/broker/moments.h"
#include "dlo/broker/postgres/hub.h"
#include "dlo/broker/postgres/postgres_queues.h"
#include "dlo/broker/postgres/token.h"
#include "dlo/broker/sealing.h"

namespace dlo {
namespace {

using namespace postgres;  // NOLINT: this file is the seam's side of that namespace

const std::string mark_started = "SELECT * FROM mark_started($1::integer, $2, $3, $4, $5)";
const std::string renew_some = "SELECT * FROM renew($1::integer, $2, $3, $4, $5)";
const std::string finish_some = "SELECT * FROM finish($1::integer, $2, $3, $4, $5, $6, $7 <> 0)";
const std::string retry_some =
    "SELECT * FROM retry($1::integer, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

void add_counts(const Counters& counters, std::vector<std::int64_t>& out) {
  for (const std::uint32_t count :
       {counters.fetch, counters.attempt, counters.failure, counters.abandon, counters.retry,
        counters.replay, counters.total}) {
    out.push_back(count);
  }
}

/// Of those that leave.
struct Leaving {
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> leases;
  std::vector<std::int32_t> fates;
  bool keyed = false;
};

/// Of those that come back.
struct Returning {
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> leases;
  std::vector<std::int32_t> hows;
  std::vector<std::int64_t> dues;
  std::vector<std::int64_t> delays;
  std::vector<std::int64_t> counts;
  std::vector<std::string> errors;
  std::vector<std::string> trails;
  bool at_once = false;  // one of them is ready again
};

/// Settlements in the form in which the server takes them. A token that comes twice ends nothing
/// the second time.
class Sorted {
 public:
  Sorted(std::span<const Settlement> settlements, TimePoint even, TimePoint wall)
      : even_(even), wall_(wall) {
    for (const Settlement& each : settlements) {
      first_.push_back(seen_.insert(each.lease).second);
      if (!first_.back()) continue;
      token_ = each.lease;
      std::visit([this](const auto& ending) { add(ending); }, each.ending);
    }
  }

  Leaving leaving;
  Returning returning;
  [[nodiscard]] bool is_first(std::size_t nth) const { return first_[nth]; }

 private:
  void leave(std::int32_t fate) {
    leaving.places.push_back(place_in(token_));
    leaving.leases.push_back(lease_in(token_));
    leaving.fates.push_back(fate);
    leaving.keyed = leaving.keyed || is_keyed(token_);
  }
  void come_back(std::int32_t how, TimePoint again_at, Millis delay, const Counters& counters,
                 const std::string& error, const std::string& trail) {
    const Millis wait = again_at == TimePoint::max() ? Millis::max() : again_at - wall_;
    const TimePoint due = later(even_, wait);
    returning.places.push_back(place_in(token_));
    returning.leases.push_back(lease_in(token_));
    returning.hows.push_back(how);
    returning.dues.push_back(due.time_since_epoch().count());
    returning.delays.push_back(delay.count());
    add_counts(counters, returning.counts);
    returning.errors.push_back(error);
    returning.trails.push_back(trail);
    returning.at_once = returning.at_once || due <= even_;
  }
  void add(const Completed&) { leave(0); }
  void add(const DeadLettered& ending) { leave(ending.hold_key ? 2 : 1); }
  void add(const dlo::Failed& ending) {
    come_back(1, ending.again_at, ending.delay, ending.counters, ending.error, ending.trail);
  }
  void add(const Abandoned& ending) {
    const std::int32_t how = !ending.increment_count ? 4 : ending.counters ? 3 : 2;
    const Millis delay = std::max(Millis{0}, ending.again_at - wall_);
    come_back(how, ending.again_at, delay, ending.counters.value_or(Counters{}), ending.error,
              ending.trail);
  }
  void add(const ReleasedUnrun&) { come_back(5, wall_, Millis{0}, Counters{}, "", ""); }

  TimePoint even_;
  TimePoint wall_;
  LeaseToken token_;
  std::unordered_set<LeaseToken> seen_;
  std::vector<bool> first_;
};

/// A lease as the server knows it: its place and number.
LeaseToken plain(const LeaseToken& token) {
  return token_of(place_in(token), lease_in(token), false);
}
LeaseToken lease_in(const Row& row) {
  return token_of(row.number(0), row.number(1), false);
}

/// The abandon count of those that came back, 0 of those that left.
using Ended = std::unordered_map<LeaseToken, std::uint32_t>;

Ended carry_out(Connection& connection, int queue, TimePoint even, TimePoint wall,
                const Sorted& sorted) {
  const Leaving& leaving = sorted.leaving;
  const Returning& returning = sorted.returning;
  if (!leaving.places.empty()) {
    connection.send(finish_some, Params(queue, even, wall, leaving.places, leaving.leases,
                                        leaving.fates, leaving.keyed));
  }
  if (!returning.places.empty()) {
    connection.send(retry_some, Params(queue, even, wall, returning.places, returning.leases,
                                       returning.hows, returning.dues, returning.delays,
                                       returning.counts, returning.errors, returning.trails));
  }
  Ended ended;
  const std::vector<Rows> answers = connection.finish();
  std::size_t next = 0;
  if (!leaving.places.empty()) {
    for (const Row row : answers[next]) ended[lease_in(row)] = 0;
    ++next;
  }
  if (!returning.places.empty()) {
    for (const Row row : answers[next]) ended[lease_in(row)] = row.as<std::uint32_t>(2);
  }
  return ended;
}

}  // namespace

Result<std::vector<bool>> PostgresQueue::touch(const char* where, const std::string& sql,
                                               std::span<const LeaseToken> leases,
                                               const Moment& moment, TimePoint argument) {
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> numbers;
  for (const LeaseToken& token : leases) {
    places.push_back(place_in(token));
    numbers.push_back(lease_in(token));
  }
  if (leases.empty()) return std::vector<bool>{};
  return hub_->quickly(where, [&](Connection& connection) -> Result<std::vector<bool>> {
    const Rows rows = connection.ask(sql, Params(number_, moment.even, argument, places, numbers));
    std::unordered_set<LeaseToken> live;
    for (const Row row : rows) live.insert(lease_in(row));
    std::vector<bool> answers;
    for (const LeaseToken& token : leases) answers.push_back(live.contains(plain(token)));
    return answers;
  });
}

Result<std::vector<bool>> PostgresQueue::start(std::span<const LeaseToken> leases, Instant now) {
  if (auto fine = check_open("postgres.start"); !fine) return fine.error();
  const auto moment = tell(now);
  if (!moment) return moment.error();
  return touch("postgres.start", mark_started, leases, *moment, now.wall);
}

Result<std::vector<bool>> PostgresQueue::renew(std::span<const LeaseToken> leases, Instant now,
                                               Millis lease_for) {
  if (lease_for < Millis{1}) {
    return Error{Code::invalid_argument, "postgres.renew",
                 "lease_for must be at least 1 ms; no lease was changed"};
  }
  if (auto fine = check_open("postgres.renew"); !fine) return fine.error();
  const auto moment = tell(now);
  if (!moment) return moment.error();
  auto live = touch("postgres.renew", renew_some, leases, *moment, later(moment->even, lease_for));
  if (live) bell_->ring();  // whoever waits for the end of one waits for another moment
  return live;
}

Result<std::vector<SettleAnswer>> PostgresQueue::settle(std::span<const Settlement> settlements,
                                                        Instant now) {
  if (auto fine = check_open("postgres.settle"); !fine) return fine.error();
  const auto moment = tell(now);
  if (!moment) return moment.error();
  std::vector<SettleAnswer> answers(settlements.size());
  if (settlements.empty()) return answers;
  std::vector<Settlement> sealed;
  if (hub_->options().sealer) {
    auto done = queued::seal(*hub_->options().sealer, settlements);
    if (!done) return done.error();
    sealed = std::move(*done);
    settlements = sealed;
  }
  const Sorted sorted(settlements, moment->even, moment->wall);
  const auto ended =
      hub_->lastingly("postgres.settle", [&](Connection& connection) -> Result<Ended> {
        return carry_out(connection, number_, moment->even, moment->wall, sorted);
      });
  if (!ended) return ended.error();
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    const auto found = ended->find(plain(settlements[i].lease));
    if (found == ended->end() || !sorted.is_first(i)) {
      answers[i].settled = Settled::lease_lost;
      continue;
    }
    const Ending& ending = settlements[i].ending;
    if (std::holds_alternative<Abandoned>(ending)) answers[i].abandon_count = found->second;
    out += std::holds_alternative<Completed>(ending) || std::holds_alternative<DeadLettered>(ending)
               ? 1U
               : 0U;
  }
  {
    const std::lock_guard lock(mutex_);
    out_rate_.add(out, now.steady);
  }
  if (sorted.leaving.keyed || sorted.returning.at_once) {
    hub_->ring(number_);
  } else if (!sorted.returning.places.empty()) {
    bell_->ring();
  }
  return answers;
}

}  // namespace dlo
