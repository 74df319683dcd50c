// What a living message carries of its earlier attempts.

#include "dlo/engine/trail.h"

#include "world.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

Attempt attempt(std::uint32_t number, std::string text = "timed out") {
  Attempt one;
  one.number = number;
  one.started_at = noon + Millis{number};
  one.took = Millis{7};
  one.outcome = OutcomeKind::failed;
  one.category = "network";
  one.rule = "timeouts";
  one.error_type = "TimeoutException";
  one.error_text = std::move(text);
  one.next_delay = 2s;
  one.node = "node-1";
  return one;
}

std::string trail_of(std::uint32_t count, const std::string& text) {
  std::string trail;
  for (std::uint32_t n = 1; n <= count; ++n) trail = with_attempt(trail, attempt(n, text));
  return trail;
}

TEST(Trail, GivesBackEveryFieldOfAnAttempt) {
  const std::vector<Attempt> attempts = attempts_of(with_attempt("", attempt(1)));
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].number, 1U);
  EXPECT_EQ(attempts[0].started_at, noon + Millis{1});
  EXPECT_EQ(attempts[0].took, Millis{7});
  EXPECT_EQ(attempts[0].outcome, OutcomeKind::failed);
  EXPECT_EQ(attempts[0].category, "network");
  EXPECT_EQ(attempts[0].rule, "timeouts");
  EXPECT_EQ(attempts[0].error_type, "TimeoutException");
  EXPECT_EQ(attempts[0].error_text, "timed out");
  EXPECT_EQ(attempts[0].next_delay, 2s);
  EXPECT_EQ(attempts[0].node, "node-1");
}

TEST(Trail, IsOldestFirst) {
  const std::vector<Attempt> attempts = attempts_of(trail_of(3, "x"));
  ASSERT_EQ(attempts.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(attempts[i].number, i + 1);
}

TEST(Trail, KeepsTabsNewlinesBackslashesAndNuls) {
  const std::string odd = std::string("a\tb\nc\\d\\t\\n\\") + '\0' + "e\r";
  Attempt one = attempt(1, odd);
  one.rule = odd;
  const std::vector<Attempt> attempts = attempts_of(with_attempt("", one));
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].error_text, odd);
  EXPECT_EQ(attempts[0].rule, odd);
}

TEST(Trail, KeepsTheFirstAndTheNewestWhenThereAreTooMany) {
  const std::vector<Attempt> attempts = attempts_of(trail_of(50, "x"));
  ASSERT_EQ(attempts.size(), trail_attempts);
  EXPECT_EQ(attempts.front().number, 1U);
  EXPECT_EQ(attempts[1].number, 32U);
  EXPECT_EQ(attempts.back().number, 50U);
}

TEST(Trail, StaysWithinItsBytes) {
  const std::string trail = trail_of(50, std::string(10'000, '\t'));  // each becomes two bytes
  EXPECT_LE(trail.size(), trail_bytes);
  const std::vector<Attempt> attempts = attempts_of(trail);
  ASSERT_GE(attempts.size(), 2U);
  EXPECT_EQ(attempts.front().number, 1U);
  EXPECT_EQ(attempts.back().number, 50U);
  EXPECT_EQ(attempts.back().error_text.size(), trail_text);
}

TEST(Trail, CutsATextBetweenCharacters) {
  std::string text(trail_text - 1, 'x');
  text += "\xE2\x82\xAC and more";  // a euro sign across the limit
  const std::vector<Attempt> attempts = attempts_of(with_attempt("", attempt(1, text)));
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].error_text, std::string(trail_text - 1, 'x'));
}

TEST(Trail, LeavesOutWhatItCannotRead) {
  const std::string good = with_attempt("", attempt(1));
  EXPECT_TRUE(attempts_of("").empty());
  EXPECT_TRUE(attempts_of("somebody else's words").empty());
  EXPECT_TRUE(attempts_of(good.substr(0, good.size() - 1)).empty()) << "torn";
  EXPECT_TRUE(attempts_of("x" + good).empty()) << "a number that is none";
  EXPECT_EQ(attempts_of("nonsense\n" + good + "\t\t\t\n" + good).size(), 2U);
}

TEST(Trail, GoesOnAfterWhatWasNeverATrail) {
  const std::string trail = with_attempt(std::string(1U << 20U, '?'), attempt(3));
  const std::vector<Attempt> attempts = attempts_of(trail);
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].number, 3U);
  EXPECT_LE(trail.size(), trail_bytes);
}

TEST(Trail, CarriesTheLimitOfACallUntilItIsTakenOff) {  // S3-25
  EXPECT_FALSE(call_limit_of(""));
  EXPECT_FALSE(call_limit_of(trail_of(3, "limit\t9")));
  EXPECT_FALSE(call_limit_of("limit\tx\n"));
  EXPECT_FALSE(call_limit_of("limit\t99999999999\n"));
  const std::string limited = with_call_limit(trail_of(3, "x"), 7);
  EXPECT_EQ(call_limit_of(limited), 7U);
  EXPECT_EQ(attempts_of(limited).size(), 3U);
  EXPECT_EQ(call_limit_of(with_call_limit(limited, 8)), 8U);
  EXPECT_EQ(with_call_limit(limited, std::nullopt), trail_of(3, "x"));
  EXPECT_EQ(with_attempt(limited, attempt(4, "x")), with_call_limit(trail_of(4, "x"), 7));
  EXPECT_EQ(with_attempt("limit\tx\n", attempt(1)), with_attempt("", attempt(1)));
  EXPECT_EQ(with_attempt("limit\t" + std::string(1U << 20U, '9'), attempt(1)),
            with_attempt("", attempt(1)));
}

TEST(Trail, WithoutItsLimitIsNotTakenForNoTrailAtAll) {
  const std::string nothing = with_call_limit(with_call_limit("", 7), std::nullopt);
  EXPECT_FALSE(nothing.empty()) << "a broker would keep the one it had";
  EXPECT_FALSE(call_limit_of(nothing));
  EXPECT_TRUE(attempts_of(nothing).empty());
  EXPECT_EQ(with_call_limit("", std::nullopt), "");
}

TEST(Trail, ABeginningTearsNoCharacter) {
  EXPECT_EQ(beginning("abc", 3), "abc");
  EXPECT_EQ(beginning("abcd", 3), "abc");
  EXPECT_EQ(beginning("a\u00e9\u00e9", 4), "a\u00e9");
}

}  // namespace
}  // namespace dlo::testing
