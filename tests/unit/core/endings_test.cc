// Executions that end in different ways: what a check sees of them, and that they add up.
#include "dlo/core/endings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/core/always_failing.h"

#include "dlo/core/abandon.h"

namespace dlo {
namespace {

using testing::book_of;
using testing::failed;
using testing::live_failing;
using testing::must;
using testing::noon;

enum class End { fails, is_abandoned, is_lost };

/// One message, counted as a broker and an engine do it between them: what is decided about a crash
/// is only written down with a failure or an abandon.
struct Life {
  std::uint32_t executions = 0;
  std::uint32_t told = 0;  // of them, how many were failures or abandons
  bool dead = false;
  bool released_unrun = false;  // its last abandon was answered Released, and it never ran again
};

template <typename Next>
Life live_through(const RuleBook& book, Next next) {
  Life life;
  Counters kept;
  bool interrupted = false;
  while (life.executions < 200) {
    ++kept.fetch;
    const Decision claim = interrupted ? book.resume(kept) : book.before_run(kept);
    life.dead = !std::holds_alternative<dlo::Run>(claim.verdict);
    if (life.dead) return life;
    kept = with_start(kept);
    const Counters running = with_start(claim.counters);
    ++life.executions;
    const End end = next();
    life.told += end != End::is_lost;
    life.released_unrun = end == End::is_abandoned;
    interrupted = end == End::is_lost;
    if (end == End::fails) {
      const Decision decision =
          book.after_run(failed("connection reset by peer"), running, noon, 0);
      life.dead = std::holds_alternative<DeadLetterAs>(decision.verdict);
      kept = decision.counters;
    } else if (end == End::is_abandoned) {
      const AbandonDecision decision =
          decide_abandon(book.profile(), running, {.increment_count = true});
      life.dead = std::holds_alternative<Poisoned>(decision.result);
      kept = decision.counters;
    }
    if (!life.dead) continue;
    life.released_unrun = false;
    return life;
  }
  return life;
}

/// CONTRACT 3.3, executions: whatever ends them.
std::uint32_t stated(const RuleBook& book) {
  return live_failing(book, testing::failure_saying("connection reset by peer")).value().executions;
}

RC_GTEST_PROP(Endings, OfAllKindsAddUpToTheStatedExecutions, ()) {
  for (const Profile& profile : builtin_profiles()) {
    if (!profile.crash_counts) continue;
    const RuleBook book = must(RuleBook::build(profile));
    std::vector<End> ends;
    const Life life = live_through(book, [&] {
      ends.push_back(*rc::gen::element(End::fails, End::is_abandoned, End::is_lost));
      return ends.back();
    });
    RC_LOG() << profile.name << " after " << ends.size() << " executions\n";
    RC_ASSERT(life.dead);
    RC_ASSERT(life.executions == stated(book));
  }
}

RC_GTEST_PROP(Endings, ThatAreReportedAddUpUnderEveryProfile, ()) {
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = must(RuleBook::build(profile));
    const Life life =
        live_through(book, [] { return *rc::gen::element(End::fails, End::is_abandoned); });
    RC_LOG() << profile.name << "\n";
    RC_ASSERT(life.dead);
    RC_ASSERT(life.executions == stated(book));
    // Only where the contract has it die at the claim after its last execution.
    RC_ASSERT(!life.released_unrun || profile.claims_count);
  }
}

/// D5: where crashes do not count, they are limited by themselves and take nothing from the rest.
RC_GTEST_PROP(Endings, ThatDoNotCountAreLimitedByThemselves, ()) {
  for (const Profile& profile : builtin_profiles()) {
    if (profile.crash_counts) continue;
    const RuleBook book = must(RuleBook::build(profile));
    const Life life = live_through(
        book, [] { return *rc::gen::element(End::fails, End::is_abandoned, End::is_lost); });
    const std::uint32_t lost = life.executions - life.told;
    RC_LOG() << profile.name << ": " << life.told << " told, " << lost << " lost\n";
    RC_ASSERT(life.dead);
    RC_ASSERT(lost <= profile.limit);
    RC_ASSERT(life.told <= stated(book));
    const auto& check = profile.post_check ? profile.post_check : profile.pre_check;
    const bool of_ends =
        check->counter == CounterName::failure || check->counter == CounterName::abandon;
    RC_ASSERT(!of_ends || lost == profile.limit || life.told == stated(book));
  }
}

/// A limit of a call stands in place of the profile's also for runs that are cut off.
RC_GTEST_PROP(Endings, ThatAreCutOffTakeNoMoreThanThemselvesFromALimitOfACall, ()) {
  for (const Profile& profile : builtin_profiles()) {
    const RuleBook book = must(RuleBook::build(profile));
    const std::uint32_t limit = profile.limit + 1 + *rc::gen::inRange<std::uint32_t>(0, 8);
    Counters kept;
    std::uint32_t executions = 0;
    std::uint32_t lost = 0;
    std::optional<std::uint32_t> died_of;
    bool interrupted = false;
    while (!died_of && executions < 100) {
      ++kept.fetch;
      const auto carried = executions == 0 ? std::nullopt : std::optional(limit);
      const Decision claim =
          interrupted ? book.resume(kept, "", carried) : book.before_run(kept, "", carried);
      if (!std::holds_alternative<dlo::Run>(claim.verdict)) {
        died_of = claim.limit.value();
        RC_ASSERT(std::get<DeadLetterAs>(claim.verdict).exhausted);
        break;
      }
      kept = with_start(kept);
      interrupted = executions > 0 && *rc::gen::arbitrary<bool>();
      ++executions;
      lost += interrupted;
      if (interrupted) continue;
      const AbandonDecision decision =
          decide_abandon(profile, with_start(claim.counters),
                         {.increment_count = true, .max_abandon_count = limit});
      if (std::holds_alternative<Poisoned>(decision.result)) died_of = decision.limit;
      kept = decision.counters;
    }
    RC_LOG() << profile.name << ", limit " << limit << ": " << executions << " executions, " << lost
             << " lost\n";
    RC_ASSERT(died_of.has_value());
    if (!profile.crash_counts && lost == profile.limit) continue;  // D5
    RC_ASSERT(executions >= limit);
    RC_ASSERT(executions <= limit + 1 + (profile.crash_counts ? 0 : lost));
    RC_ASSERT(died_of == limit);
  }
}

TEST(Endings, TwoFailuresAndOneAbandonAreThree) {
  for (const char* name : {"booking", "booking+safe", "booking-outbox", "booking-outbox+safe"}) {
    const RuleBook book = book_of(name);
    int n = 0;
    const Life life = live_through(book, [&] { return ++n <= 2 ? End::fails : End::is_abandoned; });
    EXPECT_EQ(life.executions, 3U) << name;
    EXPECT_FALSE(life.released_unrun) << name;
  }
}

TEST(Endings, ARunThatWasLostBeforeAnAbandonIsNotForgotten) {
  for (const char* name : {"booking+safe", "booking-outbox+safe"}) {
    const RuleBook book = book_of(name);
    int n = 0;
    const Life life =
        live_through(book, [&] { return ++n == 1 ? End::is_lost : End::is_abandoned; });
    EXPECT_EQ(life.executions, 3U) << name;
  }
}

TEST(Endings, AreCountedOnceWhereFailuresAreAbandons) {
  const Profile durable = must(find_profile("durable"));
  Counters counters;
  counters.failure = 2;
  counters.abandon = 3;  // two of them failures
  counters.attempt = 5;  // two were cut off, and do not count here
  EXPECT_EQ(reported_ends(durable, counters), 3U);
  EXPECT_EQ(count_for(durable, CounterName::abandon, counters), 3U);
  const Profile booking = must(find_profile("booking"));
  EXPECT_EQ(reported_ends(booking, counters), 5U);
  EXPECT_EQ(count_for(booking, CounterName::failure, counters), 5U);
  EXPECT_EQ(count_for(booking, CounterName::abandon, counters), 3U);
  counters.failure = 0;
  EXPECT_EQ(count_for(must(find_profile("booking+safe")), CounterName::failure, counters), 5U);
  EXPECT_EQ(count_for(booking, CounterName::retry, counters), 0U);
}

/// Found by a law: five runs that were cut off ended it, five that had told of their failures did
/// not. They had done so under a profile that does not count failures as abandons.
TEST(Endings, OfAnotherProfileEndItNoLaterThanCrashesWould) {
  Profile profile = must(find_profile("durable+safe"));
  const RuleBook book = must(RuleBook::build(profile));
  Counters cut_off;
  cut_off.attempt = cut_off.total = profile.limit;
  cut_off.fetch = 1;
  Counters told = cut_off;
  told.failure = profile.limit;
  EXPECT_EQ(count_for(profile, CounterName::abandon_or_fetch, told), profile.limit);
  for (const Counters& counters : {cut_off, told}) {
    const Decision decision = book.after_run(failed("broken pipe"), counters, noon, 0);
    EXPECT_TRUE(std::holds_alternative<DeadLetterAs>(decision.verdict)) << print(counters);
  }
  profile.failure_abandons = false;
  EXPECT_EQ(count_for(profile, CounterName::abandon_or_fetch, told), 1U);
}

}  // namespace
}  // namespace dlo
