#include "dlo/core/backoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "support/must.h"

#include "dlo/core/duration.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::must;

constexpr auto all_ones = std::numeric_limits<std::uint64_t>::max();

std::vector<Millis> first_waits(std::string_view policy, std::uint64_t count) {
  const RetryPolicy parsed = must(parse_policy(policy));
  std::vector<Millis> waits;
  for (std::uint64_t n = 1; n <= count; ++n) {
    waits.push_back(delay_before(parsed, n, Millis{0}, 0).value());
  }
  return waits;
}

TEST(Backoff, LinearOfTheWorkflowDocumentIsFiveMoreMinutesEachTime) {  // S2-5
  EXPECT_THAT(first_waits("linear base=5m", 4), ElementsAre(5min, 10min, 15min, 20min));
}

TEST(Backoff, ExponentialOfTheWorkflowDocumentDoublesUpToAnHour) {  // S2-6
  EXPECT_THAT(first_waits("exponential base=1m factor=2 cap=60m", 8),
              ElementsAre(1min, 2min, 4min, 8min, 16min, 32min, 60min, 60min));
}

TEST(Backoff, ImmediateNeverWaits) {  // S2-7
  EXPECT_THAT(first_waits("immediate", 3), ElementsAre(0ms, 0ms, 0ms));
}

TEST(Backoff, TheKafkaScheduleIsTwoFourEightSeconds) {  // S4-11
  EXPECT_THAT(first_waits("exponential base=1s factor=2 first_exponent=1", 3),
              ElementsAre(2s, 4s, 8s));
}

TEST(Backoff, AnUnregisteredHandlerIsAwaitedUpToAMinute) {  // R3-5: exponent at most 6, cap 60 s
  EXPECT_THAT(first_waits("exponential base=1s factor=2 cap=60s", 9),
              ElementsAre(1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s));
}

TEST(Backoff, AnotherFactorAndANegativeFirstExponentAreHonoured) {
  EXPECT_THAT(first_waits("exponential base=1s factor=1.5", 4),
              ElementsAre(1000ms, 1500ms, 2250ms, 3375ms));
  EXPECT_THAT(first_waits("exponential base=8s factor=2 first_exponent=-2", 4),
              ElementsAre(2s, 4s, 8s, 16s));
}

TEST(Backoff, TheLastDelayOfAListRepeats) {
  EXPECT_THAT(first_waits("list delays=1s,30s,5m", 5), ElementsAre(1s, 30s, 5min, 5min, 5min));
}

TEST(Backoff, FixedIsAlwaysItsBase) {
  EXPECT_THAT(first_waits("fixed base=10s", 3), ElementsAre(10s, 10s, 10s));
}

TEST(Backoff, NeverHasNoWaitAtAll) {  // S2-4
  EXPECT_FALSE(delay_before(must(parse_policy("never")), 1, Millis{0}, 0));
}

TEST(Backoff, NumberZeroIsReadAsOne) {
  const RetryPolicy policy = must(parse_policy("linear base=5m"));
  EXPECT_EQ(delay_before(policy, 0, Millis{0}, 0), 5min);
}

class AtAnyNumber : public ::testing::TestWithParam<const char*> {};

TEST_P(AtAnyNumber, WaitsAreBoundedByTenYears) {  // R3-8h: a backoff that overflowed to zero
  const RetryPolicy policy = must(parse_policy(GetParam()));
  for (const std::uint64_t n : {std::uint64_t{60}, std::uint64_t{64}, std::uint64_t{1'000},
                                std::uint64_t{1'000'000'000}, all_ones}) {
    const auto wait = delay_before(policy, n, longest_duration, all_ones);
    ASSERT_TRUE(wait);
    EXPECT_GE(*wait, *delay_before(policy, 1, Millis{0}, 0)) << n;
    EXPECT_LE(*wait, policy.cap.value_or(longest_duration)) << n;
  }
}
INSTANTIATE_TEST_SUITE_P(Backoff, AtAnyNumber,
                         ::testing::Values("exponential base=100ms factor=2",
                                           "exponential base=1ms factor=1000 cap=1h",
                                           "exponential base=3650d factor=1000 first_exponent=64",
                                           "exponential base=1s factor=1", "linear base=3650d",
                                           "linear base=1ms", "fixed base=1s jitter=decorrelated",
                                           "exponential base=1s factor=2 jitter=full",
                                           "exponential base=1s factor=2 jitter=equal"));

TEST(Backoff, ExponentialAtRetryOneBillionIsTheCeilingNotZero) {
  const RetryPolicy policy = must(parse_policy("exponential base=1ms factor=1.0001"));
  EXPECT_EQ(delay_before(policy, 1'000'000'000, Millis{0}, 0), longest_duration);
}

TEST(Jitter, FullSpreadsFromNothingToTheWait) {
  const RetryPolicy policy = must(parse_policy("fixed base=8s jitter=full"));
  EXPECT_EQ(delay_before(policy, 1, Millis{0}, 0), 0ms);
  EXPECT_EQ(delay_before(policy, 1, Millis{0}, all_ones), 8s);
  EXPECT_EQ(delay_before(policy, 1, Millis{0}, std::uint64_t{1} << 63), 4000ms);
}

TEST(Jitter, EqualKeepsHalfOfTheWait) {
  const RetryPolicy policy = must(parse_policy("fixed base=9ms jitter=equal"));
  EXPECT_EQ(delay_before(policy, 1, Millis{0}, 0), 5ms);
  EXPECT_EQ(delay_before(policy, 1, Millis{0}, all_ones), 9ms);
}

TEST(Jitter, DecorrelatedGrowsFromThePreviousWaitAndIsCapped) {
  const RetryPolicy policy = must(parse_policy("fixed base=1s cap=10s jitter=decorrelated"));
  EXPECT_EQ(delay_before(policy, 2, 2s, 0), 1s);
  EXPECT_EQ(delay_before(policy, 2, 2s, all_ones), 6s);
  EXPECT_EQ(delay_before(policy, 3, 9s, all_ones), 10s);
}

TEST(Jitter, DecorrelatedSpreadsTheFirstRetryToo) {  // or what failed together comes back together
  const RetryPolicy policy = must(parse_policy("fixed base=1s cap=10s jitter=decorrelated"));
  EXPECT_EQ(delay_before(policy, 1, 0s, 0), 1s);
  EXPECT_EQ(delay_before(policy, 1, 0s, std::uint64_t{1} << 63), 2s);
  EXPECT_EQ(delay_before(policy, 1, 0s, all_ones), 3s);
  const RetryPolicy capped = must(parse_policy("fixed base=1s cap=2s jitter=decorrelated"));
  EXPECT_EQ(delay_before(capped, 1, 0s, all_ones), 2s);
}

TEST(CustomBackoff, IsCalledByNameAndCutToTheCap) {
  const RetryPolicy policy = must(parse_policy("custom name=squares cap=1m"));
  const CustomBackoffs custom = {
      {"squares", [](std::uint64_t n) { return Millis{static_cast<std::int64_t>(n * n) * 1000}; }}};
  EXPECT_EQ(delay_before(policy, 3, 0ms, 0, custom), 9s);
  EXPECT_EQ(delay_before(policy, 100, 0ms, 0, custom), 1min);
}

TEST(CustomBackoff, OneThatThrowsOrGoesBackInTimeDoesNoHarm) {
  const RetryPolicy policy = must(parse_policy("custom name=bad base=7s"));
  EXPECT_EQ(delay_before(policy, 1, 0ms, 0, {{"bad", [](std::uint64_t) -> Millis { throw 1; }}}),
            7s);
  EXPECT_EQ(delay_before(policy, 1, 0ms, 0, {{"bad", [](std::uint64_t) { return Millis::min(); }}}),
            0s);
  EXPECT_FALSE(delay_before(policy, 1, 0ms, 0, {}));
}

TEST(PolicyText, PrintsOneLine) {
  RetryPolicy policy;
  policy.kind = PolicyKind::exponential;
  policy.base = 1s;
  policy.cap = 5min;
  policy.jitter = Jitter::full;
  EXPECT_EQ(print(policy), "exponential base=1s factor=2 cap=5m jitter=full");
}

TEST(PolicyText, ReadsBackWhatItPrints) {
  for (const char* line :
       {"never", "immediate", "fixed base=1500ms", "linear base=5m cap=1h jitter=equal",
        "exponential base=1s factor=1.1 first_exponent=-3 cap=7d jitter=decorrelated",
        "list delays=0s,1s,2h cap=1h jitter=full", "custom name=office_hours base=1s cap=1d"}) {
    EXPECT_EQ(print(must(parse_policy(line))), line);
  }
}

struct Refusal {
  const char* line;
  const char* says;
};
void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.line;
}
class RefusedPolicy : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedPolicy, SaysWhatWouldBeRight) {
  const auto parsed = parse_policy(GetParam().line);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::invalid_argument);
  EXPECT_THAT(parsed.error().detail, HasSubstr(GetParam().says));
}
// clang-format off
INSTANTIATE_TEST_SUITE_P(PolicyText, RefusedPolicy, ::testing::ValuesIn<Refusal>({
    {"", "write for example"},
    {"exponental base=1s", "did you mean \"exponential\"? Valid: never, immediate, fixed, linear, exponential, list, custom"},
    {"LINEAR base=1s", "did you mean \"linear\""},
    {"sometimes", "Valid: never"},
    {"fixed bse=1s", "did you mean \"base\""},
    {"fixed base", "name=value"},
    {"fixed base=1s base=2s", "twice"},
    {"fixed base=1", "unit"},
    {"fixed base=-1s", "negative"},
    {"fixed base=11000d", "ten years"},
    {"fixed base=1s factor=2", "does not use factor"},
    {"never base=1s", "does not use base"},
    {"immediate jitter=full", "does not use jitter"},
    {"exponential base=1s factor=0.5", "between 1 and 1000"},
    {"exponential base=1s factor=nan", "between 1 and 1000"},
    {"exponential base=1s factor=inf", "between 1 and 1000"},
    {"exponential base=1s factor=two", "not a number"},
    {"exponential base=1s first_exponent=65", "between -64 and 64"},
    {"fixed base=1s jitter=ful", "did you mean \"full\""},
    {"list", "1 to 1000 delays"},
    {"list delays=1s,,2s", "empty"},
    {"list delays=1s jitter=decorrelated", "does not use"},
    {"custom", "registered"},
    {"custom name=a/b", "letters"},
}));
// clang-format on

TEST(Duration, PrintsTheLargestExactUnit) {
  EXPECT_EQ(print_duration(0ms), "0s");
  EXPECT_EQ(print_duration(1500ms), "1500ms");
  EXPECT_EQ(print_duration(90s), "90s");
  EXPECT_EQ(print_duration(60min), "1h");
  EXPECT_EQ(print_duration(48h), "2d");
}

TEST(Duration, ReadsFractionsAndSums) {
  EXPECT_EQ(must(parse_duration("1h30m")), 90min);
  EXPECT_EQ(must(parse_duration("1.5h")), 90min);
  EXPECT_EQ(must(parse_duration("0.25s")), 250ms);
  EXPECT_EQ(must(parse_duration("0")), 0ms);
  EXPECT_EQ(must(parse_duration("3650d")), longest_duration);
}

TEST(Duration, RefusesWhatIsNotOne) {
  for (const char* text : {"", "5", "s", "5x", "1m1h", "1s1s", "-1s", "1.s5", "0.0001s", "1e3s",
                           "99999999999999999999s", "3651d", "3650d1ms", " 1s", "1s ", "1 s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

}  // namespace
}  // namespace dlo
