#include "dlo/core/given_up.h"

#include <gtest/gtest.h>

#include "unit/core/always_failing.h"

#include "dlo/core/profile.h"

namespace dlo {
namespace {

using testing::book_of;
using testing::failed;
using testing::must;
using testing::noon;
using testing::running;
using testing::verdict;

Decision finally(const RuleBook& book, const Outcome& outcome, std::uint32_t attempt) {
  return given_up(book.after_run(outcome, running(attempt), noon, 7), book.profile(),
                  outcome.failure);
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const Profile& profile : builtin_profiles()) names.push_back(profile.name);
  return names;
}

class GivenUp : public ::testing::TestWithParam<std::string> {};

TEST_P(GivenUp, IsADeadLetterAtAnyCount) {
  const RuleBook book = book_of(GetParam());
  for (const std::uint32_t attempt : {1U, 2U, 7U, 1'000'000'000U}) {
    for (const char* text : {"", "temporary trouble", "connection reset", "disk full", "x"}) {
      const Decision decision = finally(book, failed(text), attempt);
      const auto dead = verdict<DeadLetterAs>(decision);
      EXPECT_FALSE(dead.reason.empty()) << text;
      EXPECT_EQ(decision.counters,
                book.after_run(failed(text), running(attempt), noon, 7).counters);
    }
  }
}

TEST_P(GivenUp, IsADeadLetterThoughItsCategoryHasALimitAndAPolicyOfItsOwn) {
  Profile profile = must(find_profile(GetParam()));
  CategoryRule network{.policy = RetryPolicy{}};
  if (profile.post_check) network.limit = 9;
  profile.categories["network"] = network;
  profile.rules.insert(profile.rules.begin(),
                       Rule{"mine", MatchKind::substring, {"mine"}, {}, "network"});
  const RuleBook book = must(RuleBook::build(profile));
  const Decision decision = finally(book, failed("mine"), 1);
  EXPECT_TRUE(verdict<DeadLetterAs>(decision).exhausted);
  EXPECT_EQ(decision.category, "network");
}

TEST_P(GivenUp, ChangesNothingOfWhatEndsAnyway) {
  const RuleBook book = book_of(GetParam());
  EXPECT_EQ(finally(book, {}, 1).verdict, Verdict(Complete{}));
  const Decision plain = book.after_run(failed("bad request: invalid"), running(1), noon, 7);
  if (!std::holds_alternative<DeadLetterAs>(plain.verdict)) return;
  const Decision given = finally(book, failed("bad request: invalid"), 1);
  EXPECT_EQ(given.verdict, plain.verdict);
}

INSTANTIATE_TEST_SUITE_P(EveryProfile, GivenUp, ::testing::ValuesIn(profile_names()),
                         [](const auto& row) {
                           std::string name = row.param;
                           for (char& letter : name) {
                             if (letter == '-' || letter == '+') letter = '_';
                           }
                           return name;
                         });

TEST(GivenUpWords, AreThoseOfTheProfileWithTheCountReached) {
  const auto dead = verdict<DeadLetterAs>(finally(book_of("standard"), failed("slow"), 2));
  EXPECT_EQ(dead.reason, "MaxAttemptsExceeded");
  EXPECT_EQ(dead.description, "Attempt 2 of 2 failed. Last error: slow");
  const auto outbox = verdict<DeadLetterAs>(finally(book_of("booking-outbox"), failed("slow"), 1));
  EXPECT_EQ(outbox.description, "Event was not published in 1 attempts. Last error: slow");
  const auto first = verdict<DeadLetterAs>(finally(book_of("workflow"), failed("busy"), 1));
  EXPECT_EQ(first.description, "busy");  // no retry has run that could be counted
}

TEST(GivenUpWords, SendersOfWhatIsNotStoredAreToldSo) {
  Profile profile = must(find_profile("standard"));
  profile.categories["unknown"] = CategoryRule{.action = Action::reject_to_caller};
  const RuleBook book = must(RuleBook::build(profile));
  verdict<RejectToCaller>(finally(book, failed("x"), 1));
}

}  // namespace
}  // namespace dlo
