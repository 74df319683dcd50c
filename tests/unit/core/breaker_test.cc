#include "dlo/core/breaker.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/must.h"

namespace dlo {
namespace {

using testing::noon;

BreakerPolicy plain() {
  BreakerPolicy policy;
  policy.cool_down_jitter = 0;
  return policy;
}

Breaker after(Breaker breaker, const BreakerPolicy& policy, const std::string& calls,
              TimePoint now = noon) {
  for (const char call : calls) breaker = after_call(breaker, policy, call == '+', now, 0);
  return breaker;
}

TEST(Breaker, OpensAfterFiveFailuresInARow) {
  EXPECT_EQ(after({}, plain(), "----").state, BreakerState::closed);
  EXPECT_EQ(after({}, plain(), "-----").state, BreakerState::open);
  EXPECT_EQ(after({}, plain(), "----+----").state, BreakerState::closed);
}

TEST(Breaker, OpensAtTheShareButNotBeforeTheMinimumOfCalls) {
  BreakerPolicy policy = plain();
  policy.consecutive = 0;
  EXPECT_EQ(after({}, policy, "-+-+-+-+-").state, BreakerState::closed);
  EXPECT_EQ(after({}, policy, "-+-+-+-+-+-").state, BreakerState::open);
}

TEST(Breaker, ForgetsOldFailuresWithTheirWindow) {
  BreakerPolicy policy = plain();
  policy.consecutive = 0;
  const Breaker old = after(Breaker{.window_began = noon}, policy, "---------");
  EXPECT_EQ(after(old, policy, "-", noon + policy.window).state, BreakerState::closed);
}

TEST(Breaker, WhileOpenNothingIsAdmittedUntilTheCoolDownIsOver) {
  const Breaker open = after({}, plain(), "-----");
  const Admission refused = admit(open, plain(), noon + Millis{9'999});
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.ask_again, noon + Millis{10'000});
  EXPECT_EQ(refused.next, open);
  EXPECT_TRUE(admit(open, plain(), noon + Millis{10'000}).admitted);
}

TEST(Breaker, HalfOpenLetsOneProbeThroughAndItsResultDecides) {
  const TimePoint later = noon + Millis{10'000};
  const Admission probe = admit(after({}, plain(), "-----"), plain(), later);
  ASSERT_TRUE(probe.admitted);
  EXPECT_EQ(probe.next.state, BreakerState::half_open);
  EXPECT_FALSE(admit(probe.next, plain(), later).admitted);
  EXPECT_EQ(after(probe.next, plain(), "+", later).state, BreakerState::closed);
  EXPECT_EQ(after(probe.next, plain(), "-", later).state, BreakerState::open);
}

TEST(Breaker, AProbeThatNeverAnswersDoesNotWedgeIt) {
  const TimePoint later = noon + Millis{10'000};
  const Admission lost = admit(after({}, plain(), "-----"), plain(), later);
  EXPECT_FALSE(admit(lost.next, plain(), later + Millis{9'999}).admitted);
  EXPECT_TRUE(admit(lost.next, plain(), later + Millis{10'000}).admitted);
}

TEST(Breaker, OpenedByHandOnlyAHandClosesIt) {
  const Breaker forced = force_open({});
  EXPECT_FALSE(admit(forced, plain(), noon + Millis{1'000'000'000}).admitted);
  EXPECT_EQ(after(forced, plain(), "+++").state, BreakerState::open);
  EXPECT_TRUE(admit(force_closed(forced, noon), plain(), noon).admitted);
}

TEST(Breaker, JitterSpreadsTheFirstProbe) {
  BreakerPolicy policy = plain();
  policy.cool_down_jitter = 0.5;
  Breaker early;
  Breaker late;
  for (int i = 0; i < 5; ++i) early = after_call(early, policy, false, noon, 0);
  for (int i = 0; i < 5; ++i) late = after_call(late, policy, false, noon, ~std::uint64_t{0});
  EXPECT_EQ(early.probe_at, noon + Millis{10'000});
  EXPECT_GT(late.probe_at, noon + Millis{14'900});
  EXPECT_LE(late.probe_at, noon + Millis{15'000});
}

RC_GTEST_PROP(BreakerLaws, IsNeverStuckAndNeverHasMoreProbesOutThanAllowed, ()) {
  BreakerPolicy policy = plain();
  policy.probes = *rc::gen::inRange(1U, 4U);
  Breaker breaker;
  TimePoint now = noon;
  std::uint32_t out = 0;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4))) {
    now += Millis{step == 3 ? 4'000 : 10};
    if (step < 2) {
      const BreakerState before = breaker.state;
      breaker = after_call(breaker, policy, step == 0, now, 0);
      if (before == BreakerState::half_open) out = 0;
      continue;
    }
    const Admission answer = admit(breaker, policy, now);
    RC_ASSERT(answer.admitted || answer.ask_again > now);
    if (answer.next.probes_out == 1) out = 0;
    breaker = answer.next;
    if (answer.admitted && breaker.state == BreakerState::half_open) ++out;
    RC_ASSERT(out <= policy.probes);
  }
  // Whatever happened, patience is enough.
  const TimePoint patient = now + policy.cool_down * 2;
  RC_ASSERT(admit(breaker, policy, patient).admitted);
}

}  // namespace
}  // namespace dlo
