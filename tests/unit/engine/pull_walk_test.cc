// Random walks of one message through the desk, on every broker that runs in this process, under
// every profile: what is shown, when it dies and what is left, compared with a model of a few
// lines.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>

#include "unit/core/always_failing.h"
#include "unit/embedded/shop.h"
#include "unit/engine/pull_room.h"

namespace dlo::testing {
namespace {

/// Where the messages are. `crash` ends the process that has them, if there is such a thing.
class Place {
 public:
  virtual ~Place() = default;
  virtual Broker& broker() = 0;
  virtual bool crash(TimePoint) { return false; }
};

class InMemory final : public Place {
 public:
  explicit InMemory(const SourceOptions& options) : broker_(options) {}
  Broker& broker() override { return broker_; }

 private:
  MemoryBroker broker_;
};

class OnDisk final : public Place {
 public:
  explicit OnDisk(const SourceOptions& options) : shop_(options) { shop_.open(); }
  Broker& broker() override { return *shop_.queue; }
  bool crash(TimePoint now) override {
    shop_.open(now);
    return true;
  }

 private:
  Shop shop_;
};

using MakePlace = std::function<std::unique_ptr<Place>(const SourceOptions&)>;

struct Walk {
  const char* name;
  MakePlace place;
};
void PrintTo(const Walk& walk, std::ostream* out) {
  *out << walk.name;
}

/// How an execution ends, or that there was none.
enum class Step { fails, is_abandoned, is_lost, goes_back_uncounted, is_released };

/// What every receive must show, counted by hand.
struct Model {
  explicit Model(const Profile& of) : profile(of) {}
  const Profile& profile;
  std::uint32_t failures = 0;
  std::uint32_t abandons = 0;
  std::uint32_t lost = 0;
  std::map<std::uint32_t, bool> rows{};  // by the number of the execution: was it cut off

  [[nodiscard]] std::uint32_t executions() const { return failures + abandons + lost; }
  /// With the start of the next execution, if there is one.
  [[nodiscard]] Counters counters(bool running) const {
    const std::uint32_t counted = profile.crash_counts ? lost : 0;
    Counters all;
    all.attempt = all.total = executions() + running;
    all.fetch = all.attempt;
    all.retry = all.attempt > 0 ? all.attempt - 1 : 0;
    all.failure = failures + counted;
    all.abandon = abandons + (profile.failure_abandons ? failures + counted : 0);
    return all;
  }
  void take(Step step) {
    const std::uint32_t number = executions() + 1;
    failures += step == Step::fails;
    abandons += step == Step::is_abandoned;
    lost += step == Step::is_lost;
    if (executions() == number) rows[number] = step == Step::is_lost;
  }
};

class PullWalk : public ::testing::TestWithParam<Walk> {
 protected:
  void begin(const Profile& profile, std::uint64_t seed) {
    desk_.reset();
    random_.seed(seed);
    profile_ = &profile;
    SourceOptions options;
    options.source = "orders";
    options.claims_count = profile.claims_count;
    place_ = GetParam().place(options);
    kept_ = std::make_unique<MemoryOffice>();
    open();
    auto message = std::make_shared<Message>();
    message->id = "walker";
    message->payload = "x";
    Publication publication;
    publication.message = std::move(message);
    must(place_->broker().publish({&publication, 1}, clock_.instant()));
  }
  void open() {
    desk_ = std::make_unique<PullDesk>(PullDesk::Parts{
        place_->broker(), *kept_, rules_of(profile_->name), clock_, {"node", "build"}});
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  /// Takes the step; answers what became of it, nothing if nobody was told.
  std::optional<PullAnswer> take(Step step, const LeaseToken& lease,
                                 std::optional<std::uint32_t> limit = {}) {
    AbandonOptions abandon;
    abandon.increment_count = step == Step::is_abandoned;
    if (abandon.increment_count) abandon.max_abandon_count = limit;
    if (below(2) == 0) abandon.error_message = "no";
    PullFailed failed;
    failed.failure.text = "connection reset by peer";
    std::vector<PullSettlement> one(1);
    one[0].lease = lease;
    one[0].ending = abandon;
    if (step == Step::fails) one[0].ending = failed;
    if (step == Step::is_released) one[0].ending = PullReleased{};
    if (step == Step::is_lost) {
      if (below(2) == 0) {
        desk_.reset();
        place_->crash(clock_.now());
        open();
      }
      clock_.advance(1h);
      return std::nullopt;
    }
    auto answer = must(desk_->settle(std::move(one))).front();
    clock_.advance(1h);
    return answer;
  }
  RecordDetail record() { return must(kept_->get(must(kept_->list({})).rows.at(0).id)); }
  void expect_rows(const Model& model) {
    std::map<std::uint32_t, bool> rows;
    for (const Attempt& attempt : record().attempts) {
      rows[attempt.number] = attempt.outcome == OutcomeKind::crashed;
    }
    EXPECT_EQ(rows, model.rows);
  }

  std::mt19937_64 random_;
  const Profile* profile_ = nullptr;
  ManualClock clock_{noon};
  std::unique_ptr<MemoryOffice> kept_;
  std::unique_ptr<Place> place_;
  std::unique_ptr<PullDesk> desk_;
};

bool has_fallen(const Counters& now, const Counters& before) {
  return now.fetch < before.fetch || now.attempt < before.attempt || now.failure < before.failure ||
         now.abandon < before.abandon || now.retry < before.retry || now.total < before.total;
}

TEST_P(PullWalk, ShowsWhatHappenedAndDiesOnTime) {
  constexpr std::array steps = {Step::fails, Step::is_abandoned, Step::is_lost,
                                Step::goes_back_uncounted, Step::is_released};
  for (const Profile& profile : builtin_profiles()) {
    const auto stated =
        live_failing(book_of(profile.name), failure_saying("connection reset by peer"))->executions;
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      SCOPED_TRACE(profile.name + ", seed " + std::to_string(seed));
      begin(profile, seed);
      Model model(profile);
      Counters before;
      bool dead = false;
      while (!dead && model.executions() < 100) {
        const auto handed = must(desk_->receive(1, 30s));
        dead = handed.empty();
        if (dead) break;
        EXPECT_EQ(print(handed[0].counters), print(model.counters(true)));
        EXPECT_FALSE(has_fallen(handed[0].counters, before)) << print(before);
        before = handed[0].counters;
        const bool leaves = profile.placement == Placement::in_office;  // when it fails
        Step step = steps[below(steps.size())];
        if (leaves && step == Step::fails) step = Step::is_abandoned;
        const auto answer = take(step, handed[0].lease);
        model.take(step);
        dead = answer && answer->fate == Fate::dead;
        const bool unrun = step == Step::goes_back_uncounted || step == Step::is_released;
        if (unrun) {
          EXPECT_FALSE(dead) << "and nothing ran";
        } else if (answer && answer->abandon_count && !dead) {
          EXPECT_EQ(*answer->abandon_count, model.counters(false).abandon);
        }
      }
      ASSERT_TRUE(dead);
      ASSERT_EQ(must(kept_->list({})).rows.size(), 1U);
      expect_rows(model);
      Counters left = record().record.counters;
      left.fetch = model.counters(false).fetch;  // or one claim more, which found it dead
      EXPECT_EQ(print(left), print(model.counters(false)));
      if (profile.crash_counts) {
        EXPECT_EQ(model.executions(), stated);
      } else {
        EXPECT_LE(model.lost, profile.limit);
        EXPECT_LE(model.executions() - model.lost, stated);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(PullWalk, EndsByTheLimitOfTheCallWhereverLeasesAreLost) {  // S3-25
  for (const Profile& profile : builtin_profiles()) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      SCOPED_TRACE(profile.name + ", seed " + std::to_string(seed));
      begin(profile, seed);
      const std::uint32_t limit = profile.limit + 1 + below(8);
      Model model(profile);
      bool dead = false;
      while (!dead && model.executions() < 100) {
        const auto handed = must(desk_->receive(1, 30s));
        dead = handed.empty();
        if (dead) break;
        EXPECT_EQ(print(handed[0].counters), print(model.counters(true)));
        Step step = Step::is_abandoned;
        if (model.executions() > 0 && below(3) == 0) step = Step::is_lost;
        if (below(4) == 0) step = Step::goes_back_uncounted;
        const auto answer = take(step, handed[0].lease, limit);
        model.take(step);
        dead = answer && answer->fate == Fate::dead;
      }
      ASSERT_TRUE(dead);
      expect_rows(model);
      if (!profile.crash_counts && model.lost == profile.limit) continue;  // D5
      const RecordDetail left = record();
      EXPECT_EQ(left.record.limit, limit);
      EXPECT_GE(model.executions(), limit);
      EXPECT_LE(model.executions(), limit + 1 + (profile.crash_counts ? 0 : model.lost));
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Brokers, PullWalk,
    ::testing::Values(
        Walk{"Memory", [](const SourceOptions& o) { return std::make_unique<InMemory>(o); }},
        Walk{"Embedded", [](const SourceOptions& o) { return std::make_unique<OnDisk>(o); }}),
    [](const auto& walk) { return walk.param.name; });

}  // namespace
}  // namespace dlo::testing
