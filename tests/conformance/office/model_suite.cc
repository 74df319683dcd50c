// Random operations, predicted by a model; after them every number equals a recount.

#include <cstdlib>
#include <random>

#include "conformance/office/model.h"
#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

using std::chrono::seconds;

/// Thinks of something to do, does it to office and model, and compares the answers.
class Driver {
 public:
  Driver(Office& office, std::uint32_t seed) : office_(office), random_(seed) {}

  void step() {
    switch (pick(12)) {
      case 0:
      case 1:
      case 2:
        return append();
      case 3:
      case 4:
        return claim();
      case 5:
        return settle();
      case 6:
        return renew();
      case 7:
        return remove();
      case 8:
        return edit();
      case 9:
        return fail_half_way();
      default:
        return move();
    }
  }

  void compare() const {
    AggregateRequest request;
    request.groups = 1'000;
    const Aggregate numbers = must(office_.aggregate(request));
    OfficeModel::TallyRows tallies;
    for (const Tally& t : numbers.tallies) tallies[{t.source, t.status, t.category}] = t.count;
    EXPECT_EQ(tallies, model_.tallies());
    auto open = model_.open_by_group();
    EXPECT_EQ(numbers.groups.size(), model_.groups().size());
    for (const GroupSummary& group : numbers.groups) {
      ASSERT_EQ(model_.groups().count(group.fingerprint), 1U);
      const OfficeModel::Group& expected = model_.groups().at(group.fingerprint);
      EXPECT_EQ(group.open, open[group.fingerprint]) << to_string(group.fingerprint);
      EXPECT_EQ(group.total, expected.total) << to_string(group.fingerprint);
      EXPECT_EQ(group.status, expected.status) << to_string(group.fingerprint);
    }
    for (const auto& [id, row] : model_.rows()) {
      const DeadLetter kept = must(office_.get(id)).record;
      EXPECT_EQ(kept.status, row.status) << to_string(id);
      EXPECT_EQ(kept.version, row.version) << to_string(id);
      EXPECT_EQ(kept.occurrence, row.occurrence) << to_string(id);
      EXPECT_EQ(kept.counters.fetch, row.fetches) << to_string(id);
      EXPECT_EQ(kept.died, row.died) << to_string(id);
    }
    EXPECT_EQ(must(office_.changes_since(0, 100'000)).size(), model_.rows().size());
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  RecordId some_id() { return id_of(pick(25) + 1); }
  std::string some_source() { return pick(2) == 0 ? "orders" : "payments"; }
  std::string some_category() { return pick(2) == 0 ? "network" : ""; }
  /// Time goes on, but sometimes a clock is behind.
  TimePoint now() {
    now_ += Millis{pick(2'000)};
    return pick(10) == 0 ? now_ - seconds{5} : now_;
  }

  void append() {
    DeadLetter letter = a_letter(pick(25) + 1);
    Message message = message_of(letter);
    message.source = some_source();
    letter.message = share(message);
    static constexpr std::array arrivals = {Status::pending, Status::waiting, Status::parked,
                                            Status::exhausted, Status::resolved};
    letter.status = arrivals[pick(arrivals.size())];
    letter.occurrence = pick(4) == 0 ? static_cast<std::uint32_t>(pick(4) + 1) : 1;
    letter.category = some_category();
    letter.fingerprint.hash = group_of(pick(4));
    letter.died_at = noon + seconds{pick(5)};
    if (pick(3) != 0) letter.next_retry_at = now();
    const Applied answer = must(office_.apply(std::vector<Change>{append_of(letter)})).front();
    EXPECT_EQ(answer.effect, model_.append(letter.id, letter, answer.number))
        << to_string(letter.id);
    EXPECT_EQ(answer.number, model_.rows().at(letter.id).number);
    EXPECT_EQ(answer.version, model_.rows().at(letter.id).version);
  }

  Transition some_move() {
    Transition change;
    change.id = some_id();
    change.to = all_statuses()[pick(status_count)];
    change.now = now();
    if (pick(3) == 0) change.category = some_category();
    if (pick(4) == 0) change.fingerprint = Fingerprint{group_of(pick(4)), "t", "b"};
    if (pick(4) == 0) change.next_retry_at = now();
    if (pick(8) == 0) change.clear_next_retry = true;
    if (pick(8) == 0) change.expected_version = pick(6);
    if (pick(8) == 0 || (carries_lease(change.to) && pick(4) != 0)) {
      change.lease_for = Millis{pick(20'000) + 1};
    }
    return change;
  }

  void try_move(const Transition& change) {
    const auto expected = model_.would_refuse(change);
    const auto answer = office_.apply(std::vector<Change>{change});
    ASSERT_EQ(answer.has_value(), !expected.has_value())
        << to_string(change.id) << " to " << name_of(change.to)
        << (answer ? "" : ": " + answer.error().detail);
    if (!answer) {
      EXPECT_EQ(answer.error().code, *expected) << answer.error().detail;
      return;
    }
    EXPECT_EQ(answer->front().lease.has_value(), change.lease_for.has_value());
    if (answer->front().lease) held_.push_back({*answer->front().lease, change.id});
    model_.move(change, answer->front().lease);
  }

  void move() { try_move(some_move()); }

  void settle() {
    if (held_.empty()) return;
    Transition change = some_move();
    const auto& [lease, id] = held_[pick(held_.size())];
    change.lease = lease;
    change.id = id;
    try_move(change);
  }

  void claim() {
    const TimePoint then = now();
    const std::string source = pick(2) == 0 ? "" : some_source();
    const Millis lease_for{pick(20'000) + 1};
    const std::size_t limit = pick(4);
    const auto claims = must(office_.claim(limit, then, lease_for, source));
    model_.take_back(then);
    for (const Claim& one : claims) {
      EXPECT_EQ(model_.next_due(then, source), std::optional(one.record.id));
      model_.claim(one.record.id, one.lease, one.until);
      held_.push_back({one.lease, one.record.id});
    }
    if (claims.size() < limit) {
      EXPECT_EQ(model_.next_due(then, source), std::nullopt);
    }
  }

  void renew() {
    if (held_.empty()) return;
    const LeaseToken lease = held_[pick(held_.size())].first;
    const TimePoint then = now();
    const Millis lease_for{pick(20'000) + 1};
    const bool live = must(office_.renew({{lease}}, then, lease_for)).front();
    EXPECT_EQ(live, model_.renew(lease, then, lease_for));
  }

  void remove() {
    const RecordId id = some_id();
    const auto answer = office_.apply(std::vector<Change>{Remove{id}});
    const auto expected = model_.remove(id);
    EXPECT_EQ(answer.has_value(), !expected.has_value());
    if (!answer && expected) {
      EXPECT_EQ(answer.error().code, *expected);
    }
  }

  void edit() {
    EditGroup change;
    change.fingerprint = group_of(pick(4));
    change.status = pick(2) == 0 ? GroupStatus::resolved : GroupStatus::ignored;
    const auto answer = office_.apply(std::vector<Change>{change});
    EXPECT_EQ(answer.has_value(), !model_.edit(change.fingerprint, *change.status).has_value());
  }

  /// Good changes before a bad one: the model does not even hear of them.
  void fail_half_way() {
    DeadLetter letter = a_letter(pick(25) + 1);
    letter.occurrence = static_cast<std::uint32_t>(pick(9) + 1);
    letter.fingerprint.hash = group_of(pick(6));
    const auto answer = office_.apply(std::vector<Change>{
        append_of(letter, {an_attempt(1)}), AddAttempt{letter.id, an_attempt(2)},
        PutDocument{"view", "k", "v", std::nullopt}, Remove{id_of(4'040'404)}});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::not_found);
  }

  Office& office_;
  OfficeModel model_;
  std::mt19937 random_;
  TimePoint now_ = noon;
  std::vector<std::pair<LeaseToken, RecordId>> held_;
};

/// `make soak` asks for more than the few seeds of an ordinary run.
std::uint32_t seeds() {
  const char* wanted = std::getenv("DLO_MODEL_SEEDS");
  const long number = wanted == nullptr ? 0 : std::strtol(wanted, nullptr, 10);
  return number > 0 ? static_cast<std::uint32_t>(number) : 4;
}

TEST_P(OfficeSuite, RandomOperationsDoWhatTheModelPredicts) {
  for (std::uint32_t seed = 1; seed <= seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto kept = GetParam().make_empty();
    Driver driver(kept->office(), seed);
    for (int step = 0; step < 400 && !HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      driver.step();
      if (step % 20 == 19) driver.compare();
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace dlo::testing
