// Messages whose executions end in different ways: limits of calls, lost leases, an office that is
// full, and the error that is shown at last.
#include <algorithm>

#include "unit/core/always_failing.h"
#include "unit/engine/pull_room.h"

#include "dlo/engine/office_source.h"

namespace dlo::testing {
namespace {

struct Lost {};  // its worker is never heard of again
using End = std::variant<Lost, PullEnding>;

class PullMixed : public PullDeskTest {
 protected:
  static PullEnding counted(std::string error = "", std::optional<std::uint32_t> limit = {}) {
    AbandonOptions options;
    options.increment_count = true;
    if (!error.empty()) options.error_message = std::move(error);
    options.max_abandon_count = limit;
    return options;
  }
  static PullEnding uncounted(std::string error) {
    AbandonOptions options;
    options.error_message = std::move(error);
    return options;
  }

  struct Life {
    std::uint32_t executions = 0;
    bool unrun = false;  // released, and then dead before it could run again
    RecordDetail record{};
  };
  /// Sends one and ends its executions as `end_of(number)` says until it is dead.
  template <typename EndOf>
  Life live(const std::string& id, EndOf end_of) {
    send(id);
    Life life;
    while (life.executions < 100) {
      const auto handed = receive();
      if (handed.empty()) break;
      ++life.executions;
      const End end = end_of(life.executions);
      life.unrun = false;
      if (const auto* ending = std::get_if<PullEnding>(&end)) {
        life.unrun = settle(handed[0].lease, *ending).fate == Fate::released;
      }
      clock_.advance(1h);
    }
    life.record = record_of(id);
    return life;
  }
  RecordDetail record_of(const std::string& id) {
    Query query;
    query.message_id = id;
    return must(kept_.get(must(kept_.list(query)).rows.at(0).id));
  }
  static std::vector<std::uint32_t> numbers(const RecordDetail& record) {
    std::vector<std::uint32_t> numbers;
    for (const Attempt& attempt : record.attempts) numbers.push_back(attempt.number);
    std::ranges::sort(numbers);
    return numbers;
  }
  static std::vector<std::uint32_t> up_to(std::uint32_t last) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t n = 1; n <= last; ++n) numbers.push_back(n);
    return numbers;
  }
  void count_claims() {
    SourceOptions options;
    options.source = "orders";
    options.claims_count = true;
    desk_.reset();
    broker_ = std::make_unique<MemoryBroker>(options);
  }
};

TEST_F(PullMixed, ALimitOfTheCallIsTheLimitAndIsRecorded) {  // S3-25
  for (const Profile& profile : builtin_profiles()) {
    for (const std::uint32_t limit : {1U, profile.limit, profile.limit + 2}) {
      SCOPED_TRACE(profile.name + " " + std::to_string(limit));
      use(profile.name);
      const Life life = live(profile.name + std::to_string(limit),
                             [&](std::uint32_t) -> End { return counted("no", limit); });
      EXPECT_EQ(life.executions, limit);
      EXPECT_FALSE(life.unrun);
      EXPECT_EQ(life.record.record.limit, limit);
      EXPECT_EQ(life.record.record.counters.total, limit);
      EXPECT_NE(life.record.record.description.find("(max " + std::to_string(limit) + ")"),
                std::string::npos)
          << life.record.record.description;
    }
  }
}

TEST_F(PullMixed, ALimitOfTheCallIsForgottenByWhatEndsOtherwise) {
  use("booking-outbox");
  const Life life = live("1", [&](std::uint32_t n) -> End {
    if (n == 1) return counted("no", 9);
    return PullEnding(failed("no"));
  });
  EXPECT_EQ(life.executions, 3U);
}

TEST_F(PullMixed, ALimitOfTheCallOutlivesAnAbandonThatIsNoExecution) {
  use("durable+safe");
  send("1");
  for (int n = 1; n <= 6; ++n) {
    ASSERT_EQ(settle(receive().at(0).lease, counted("no", 9)).fate, Fate::released) << n;
    const auto handed = receive();
    ASSERT_EQ(handed.size(), 1U) << n;
    ASSERT_EQ(settle(handed[0].lease, PullReleased{}).fate, Fate::released);
  }
}

TEST_F(PullMixed, ALimitOfTheCallOutlivesLostLeases) {
  for (const Profile& profile : builtin_profiles()) {
    SCOPED_TRACE(profile.name);
    use(profile.name);
    const Life life = live(profile.name, [&](std::uint32_t n) -> End {
      if (n == 9 || n == 11) return Lost{};
      return counted("no", 20);
    });
    EXPECT_GE(life.executions, 20U);
    EXPECT_LE(life.executions, 22U);
    EXPECT_EQ(life.record.record.limit, 20U);
    EXPECT_NE(life.record.record.description.find("20"), std::string::npos)
        << life.record.record.description;
  }
}

TEST_F(PullMixed, WhoHandsItBackUnprocessedEndsNothing) {  // S3-30
  for (const Profile& profile : builtin_profiles()) {
    SCOPED_TRACE(profile.name);
    use(profile.name);
    send(profile.name);
    for (int n = 1; n <= 8; ++n) {
      ASSERT_EQ(settle(receive().at(0).lease, counted("no", 20)).fate, Fate::released);
      clock_.advance(1h);
    }
    for (int n = 1; n <= 3; ++n) {
      const auto handed = receive();
      ASSERT_EQ(handed.size(), 1U);
      EXPECT_EQ(settle(handed[0].lease, AbandonOptions{}).fate, Fate::released);
    }
    const auto handed = receive();
    ASSERT_EQ(handed.size(), 1U);
    EXPECT_EQ(handed[0].counters.abandon, 8U);
    EXPECT_EQ(settle(handed[0].lease, PullCompleted{}).fate, Fate::completed);
  }
}

TEST_F(PullMixed, RunsThatWereCutOffEndNothingThatIsHandedBack) {
  use("kafka");  // which counts no run that was cut off
  send("1");
  for (int n = 1; n <= 4; ++n) {
    const auto handed = receive();
    ASSERT_EQ(handed.size(), 1U);
    if (n <= 2) settle(handed[0].lease, counted("no"));
    clock_.advance(1h);
  }
  EXPECT_EQ(settle(receive().at(0).lease, AbandonOptions{}).fate, Fate::released);
  EXPECT_EQ(receive().size(), 1U);
}

TEST_F(PullMixed, WhatWaitsInTheOfficeIsReleasedOnlyToRunAgain) {
  Profile profile = must(find_profile("standard"));
  profile.placement = Placement::in_office;
  const auto rules = std::make_shared<const RuleBook>(must(RuleBook::build(profile)));
  OfficeSource waiting(office_, "orders");
  PullDesk office_desk({waiting, office_, rules, clock_, {"node", "build"}, &waiting});
  desk_ = std::make_unique<PullDesk>(
      PullDesk::Parts{*broker_, office_, rules, clock_, {"node", "build"}});
  send("1");
  settle(receive().at(0).lease, failed("connection reset"));
  Fate fate = Fate::retried;
  std::uint32_t executions = 1;
  while (executions < 20) {
    clock_.advance(1h);
    const auto due = must(office_desk.receive(10, 30s));
    if (due.empty()) break;
    ++executions;
    std::vector<PullSettlement> one;
    one.push_back({due[0].lease, counted("no", 9)});
    fate = must(office_desk.settle(std::move(one))).front().fate;
  }
  EXPECT_EQ(executions, 5U) << "the limit of the profile";
  EXPECT_EQ(fate, Fate::dead) << "told so at once";
}

TEST_F(PullMixed, EveryExecutionHasItsRowHoweverItEnded) {
  const std::vector<std::string> patterns = {"l", "all", "alall", "lla", "fll", "lfla", "flal"};
  for (const Profile& profile : builtin_profiles()) {
    for (const std::string& pattern : patterns) {
      const bool leaves = profile.placement == Placement::in_office;  // when it fails
      if (leaves && pattern.find('f') != std::string::npos) continue;
      SCOPED_TRACE(profile.name + " " + pattern);
      use(profile.name);
      const Life life = live(profile.name + pattern, [&](std::uint32_t n) -> End {
        const char end = pattern[(n - 1) % pattern.size()];
        if (end == 'l') return Lost{};
        if (end == 'f') return PullEnding(failed("connection reset"));
        return counted("told");
      });
      EXPECT_EQ(life.record.record.counters.total, life.executions);
      ASSERT_EQ(numbers(life.record), up_to(life.executions));
      for (const Attempt& attempt : life.record.attempts) {
        const char end = pattern[(attempt.number - 1) % pattern.size()];
        EXPECT_EQ(attempt.outcome == OutcomeKind::crashed, end == 'l') << attempt.number;
      }
      if (!profile.crash_counts) continue;
      const auto failing = live_failing(book_of(profile.name), failure_saying("connection reset"));
      EXPECT_EQ(life.executions, failing->executions);
    }
  }
}

TEST_F(PullMixed, WhatExpiresAfterALostLeaseTellsOfIt) {
  use("standard");
  send("1", noon + 90s);
  for (int n = 0; n < 2; ++n) {
    ASSERT_EQ(receive().size(), 1U);
    clock_.advance(31s);
  }
  clock_.advance(1h);
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(numbers(record_of("1")), up_to(2));
  EXPECT_EQ(record_of("1").record.category, "expired") << "the crash is not what it died of";
}

TEST_F(PullMixed, WhatAWorkerCondemnsAfterALostLeaseIsNoCrash) {
  use("standard");
  send("1");
  ASSERT_EQ(receive().size(), 1U);
  clock_.advance(1h);
  settle(receive().at(0).lease, PullCondemned{"BusinessRule", "no such customer"});
  EXPECT_EQ(record_of("1").record.category, "rejected");
  EXPECT_EQ(record_of("1").attempts.front().category, "rejected");
}

TEST_F(PullMixed, EveryDeathHasACategoryUnderEveryProfile) {  // facets have no empty rows
  for (const Profile& profile : builtin_profiles()) {
    SCOPED_TRACE(profile.name);
    use(profile.name);
    send("condemned");
    settle(receive().at(0).lease, PullCondemned{"BusinessRule", "no such customer"});
    EXPECT_EQ(record_of("condemned").record.category, "rejected");
    send("expired", clock_.now() + 1s);
    clock_.advance(2s);
    desk_->bury_expired();
    EXPECT_EQ(record_of("expired").record.category, "expired");
  }
}

TEST_F(PullMixed, WhatOnlyLostItsLeasesIsOfCategoryCrash) {
  use("standard");
  const Life lost = live("1", [](std::uint32_t) -> End { return Lost{}; });
  EXPECT_EQ(lost.record.record.category, "crash");
  const Life failed_first = live("2", [](std::uint32_t n) -> End {
    if (n == 1) return PullEnding(failed("connection reset"));
    return Lost{};
  });
  EXPECT_EQ(failed_first.record.record.category, "network") << "of the error that is shown";
  EXPECT_EQ(failed_first.record.record.failure.text, "connection reset");
}

TEST_F(PullMixed, WhatCannotBeRecordedGoesBackUncounted) {  // R20, I8
  count_claims();
  use("durable-fetch");
  send("dies");
  for (int n = 1; n <= 10; ++n) {
    ASSERT_EQ(settle(receive().at(0).lease, counted("no")).fate, Fate::released);
  }
  office_.down = true;
  for (int n = 0; n < 20; ++n) {
    const auto refused = desk_->receive(10, 30s);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::unavailable);
    EXPECT_EQ(stats().leased, 0U) << "nobody waits for it";
    clock_.advance(1h);
  }
  send("lives");
  EXPECT_EQ(receive().size(), 1U) << "others go on";
  office_.down = false;
  (void)receive();
  const DeadLetter record = record_of("dies").record;
  EXPECT_EQ(record.counters.fetch, 11U);
  EXPECT_EQ(record.description, "poison: exceeded 11 attempts (max 10)");
}

TEST_F(PullMixed, AnExpiredOneThatCannotBeRecordedGoesBackToo) {
  count_claims();
  use("durable-fetch");
  send("1", noon + 1s);
  clock_.advance(1h);
  office_.down = true;
  for (int n = 0; n < 20; ++n) {
    EXPECT_FALSE(desk_->bury_expired());
    EXPECT_EQ(stats().leased, 0U);
  }
  office_.down = false;
  desk_->bury_expired();
  EXPECT_EQ(record_of("1").record.counters.fetch, 1U);
}

TEST_F(PullMixed, TheNewestErrorIsShownWhereverItCameFrom) {  // I9
  for (const char* profile : {"durable-fetch", "durable", "standard", "booking-outbox"}) {
    SCOPED_TRACE(profile);
    use(profile);
    send(profile);
    settle(receive().at(0).lease, failed("connection reset"));
    clock_.advance(1h);
    settle(receive().at(0).lease, uncounted("the buffer was full"));
    clock_.advance(1h);
    for (auto handed = receive(); !handed.empty(); handed = receive()) {
      settle(handed[0].lease, counted());
      clock_.advance(1h);
    }
    EXPECT_EQ(record_of(profile).record.failure.text, "the buffer was full");
  }
}

TEST_F(PullMixed, AFailureThatSaysNothingHidesNoEarlierOne) {  // I9
  use("durable");
  AbandonOptions forced;
  forced.force_poison = true;
  send("1");
  settle(receive().at(0).lease, failed("the true error"));
  settle(receive().at(0).lease, failed(""));
  settle(receive().at(0).lease, forced);
  EXPECT_EQ(record_of("1").record.failure.text, "the true error");
}

TEST_F(PullMixed, AWaitingMessageCarriesOnlyTheBeginningOfAnEndlessError) {
  use("durable");
  std::string endless;
  while (endless.size() < 1'000'000) endless += "no, and again no; ";
  send("failed");
  settle(receive().at(0).lease, failed(endless));
  auto handed = receive();
  EXPECT_EQ(handed.at(0).last_error, endless.substr(0, 16 * 1024));
  settle(handed[0].lease, PullCompleted{});
  send("abandoned");
  settle(receive().at(0).lease, counted(endless));
  handed = receive();
  EXPECT_EQ(handed.at(0).last_error, endless.substr(0, 16 * 1024));
  PullFailed last = failed(endless);
  for (; !handed.empty(); handed = receive()) settle(handed[0].lease, last);
  EXPECT_EQ(record_of("abandoned").record.failure.text, endless) << "its record has all";
}

TEST_F(PullMixed, AForcedPoisonSaysNothingOfAbandonsThatWereNone) {
  AbandonOptions forced;
  forced.force_poison = true;
  AbandonOptions none;
  none.max_abandon_count = 0;
  for (const Profile& profile : builtin_profiles()) {
    SCOPED_TRACE(profile.name);
    use(profile.name);
    send(profile.name + " forced");
    settle(receive().at(0).lease, forced);
    const std::string limit = std::to_string(profile.limit);
    EXPECT_EQ(record_of(profile.name + " forced").record.description,
              "poison: message was poisoned on request after 0 abandons (max " + limit + ")");
    send(profile.name + " none");
    EXPECT_EQ(settle(receive().at(0).lease, none).abandon_count, 0U);
    EXPECT_EQ(record_of(profile.name + " none").record.description,
              "poison: message was poisoned on request after 0 abandons (max 0)");
  }
}

}  // namespace
}  // namespace dlo::testing
