#include "dlo/core/breaker.h"

#include <deque>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/must.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::noon;

constexpr std::uint64_t no_jitter = 0;
constexpr std::uint64_t most_jitter = ~std::uint64_t{0};

BreakerPolicy by_row(std::uint32_t failures) {
  BreakerPolicy policy;
  policy.consecutive = failures;
  policy.minimum_calls = 1'000'000;
  return policy;
}
BreakerPolicy by_share(double share, std::uint32_t calls) {
  BreakerPolicy policy;
  policy.consecutive = 0;
  policy.failure_share = share;
  policy.minimum_calls = calls;
  return policy;
}

/// Asks, calls and reports; stays as it is if not admitted.
Breaker call(const Breaker& breaker, const BreakerPolicy& policy, bool ok, TimePoint now) {
  const Admission admission = admit(breaker, policy, now);
  if (!admission.admitted) return admission.next;
  return after_call(admission.next, policy, admission.ticket, ok, now, no_jitter);
}
Breaker calls(Breaker breaker, const BreakerPolicy& policy, std::string_view results,
              TimePoint now) {
  for (const char c : results) breaker = call(breaker, policy, c == '+', now);
  return breaker;
}
Breaker open_breaker(const BreakerPolicy& policy = by_row(3)) {
  return calls({}, policy, "---", noon);
}

struct Row {
  const char* name;
  BreakerPolicy policy;
  const char* results;  // + ok, - failed
  BreakerState expected;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Opening : public ::testing::TestWithParam<Row> {};

TEST_P(Opening, FollowsTheTable) {
  EXPECT_EQ(calls({}, GetParam().policy, GetParam().results, noon).state, GetParam().expected);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Breaker, Opening, ::testing::ValuesIn<Row>({
    {"StaysClosedUnused",                 by_row(3),        "",             BreakerState::closed},
    {"TwoOfThreeInARowAreNotEnough",      by_row(3),        "--",           BreakerState::closed},
    {"ThreeInARowOpen",                   by_row(3),        "---",          BreakerState::open},
    {"ASuccessBreaksTheRow",              by_row(3),        "--+--",        BreakerState::closed},
    {"TheRowMayComeAfterSuccesses",       by_row(3),        "++++---",      BreakerState::open},
    {"ZeroInARowMeansNever",              by_row(0),        "----------",   BreakerState::closed},
    {"AShareNeedsItsMinimum",             by_share(0.5, 4), "---",          BreakerState::closed},
    {"HalfOfFourOpens",                   by_share(0.5, 4), "++--",         BreakerState::open},
    {"LessThanHalfDoesNot",               by_share(0.5, 4), "+++-",         BreakerState::closed},
    {"ASuccessNeverOpens",                by_share(0.5, 4), "---+",         BreakerState::closed},
    {"TheNextFailureThenDoes",            by_share(0.5, 4), "---+-",        BreakerState::open},
    {"AShareAboveOneMeansNever",          by_share(1.1, 1), "--------",     BreakerState::closed},
    {"AMinimumOfZeroIsOne",               by_share(0.5, 0), "-",            BreakerState::open},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Breaker, ForgetsTheShareAfterItsWindow) {
  const BreakerPolicy policy = by_share(0.5, 4);
  Breaker breaker = calls({}, policy, "---", noon);
  breaker = call(breaker, policy, false, noon + policy.window);
  EXPECT_EQ(breaker.state, BreakerState::closed);
  EXPECT_EQ(breaker.failures, 1U);
}

TEST(Breaker, BurnsNothingWhileOpen) {  // R21
  const BreakerPolicy policy = by_row(3);
  const Breaker breaker = open_breaker();
  for (const Millis wait : {0ms, 1ms, 9'999ms}) {
    const Admission admission = admit(breaker, policy, noon + wait);
    EXPECT_FALSE(admission.admitted);
    EXPECT_EQ(admission.next, breaker);
    EXPECT_EQ(admission.ask_again, noon + policy.cool_down);
  }
}

TEST(Breaker, LetsOneProbeThroughAfterTheCoolDown) {
  const BreakerPolicy policy = by_row(3);
  const Admission probe = admit(open_breaker(), policy, noon + policy.cool_down);
  ASSERT_TRUE(probe.admitted);
  EXPECT_EQ(probe.next.state, BreakerState::half_open);
  EXPECT_FALSE(admit(probe.next, policy, noon + policy.cool_down).admitted);
}

TEST(Breaker, ClosesWhenItsProbesSucceedAndOpensWhenOneFails) {
  BreakerPolicy policy = by_row(3);
  policy.probes = 2;
  const TimePoint later = noon + policy.cool_down;
  const Breaker half = call(open_breaker(policy), policy, true, later);
  EXPECT_EQ(half.state, BreakerState::half_open);
  EXPECT_EQ(call(half, policy, true, later).state, BreakerState::closed);
  const Breaker again = call(half, policy, false, later);
  EXPECT_EQ(again.state, BreakerState::open);
  EXPECT_EQ(again.probe_at, later + policy.cool_down);
}

TEST(Breaker, StartsAfreshWhenItCloses) {
  const BreakerPolicy policy = by_row(3);
  const Breaker closed = call(open_breaker(), policy, true, noon + 10s);
  EXPECT_EQ(calls(closed, policy, "--", noon + 10s).state, BreakerState::closed);
}

TEST(Breaker, SpreadsItsCoolDownByJitter) {
  const BreakerPolicy policy = by_row(1);
  const auto probe_at = [&](std::uint64_t random) {
    const Admission asked = admit({}, policy, noon);
    return after_call(asked.next, policy, asked.ticket, false, noon, random).probe_at;
  };
  EXPECT_EQ(probe_at(no_jitter), noon + 10s);
  EXPECT_GE(probe_at(most_jitter), noon + 11'999ms);
  EXPECT_LE(probe_at(most_jitter), noon + 12s);
}

TEST(Breaker, IgnoresResultsOfCallsMadeBeforeItChanged) {
  const BreakerPolicy policy = by_row(3);
  const Admission slow = admit({}, policy, noon);  // admitted while closed
  const Breaker open = open_breaker();
  EXPECT_EQ(after_call(open, policy, slow.ticket, true, noon, 0), open);
  const Breaker half = admit(open, policy, noon + 10s).next;
  EXPECT_EQ(after_call(half, policy, slow.ticket, true, noon + 10s, 0), half);
  EXPECT_EQ(after_call(half, policy, slow.ticket, false, noon + 10s, 0), half);
}

TEST(Breaker, IsNotWedgedByAProbeThatNeverAnswers) {
  const BreakerPolicy policy = by_row(3);
  const TimePoint probed = noon + 10s;
  const Admission lost = admit(open_breaker(), policy, probed);
  const Admission refused = admit(lost.next, policy, probed + 59'999ms);
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.ask_again, probed + 60s);
  const Admission next = admit(lost.next, policy, probed + 60s);
  ASSERT_TRUE(next.admitted);
  EXPECT_EQ(next.next.probes_out, 1U);
  EXPECT_EQ(after_call(next.next, policy, lost.ticket, false, probed + 61s, 0), next.next)
      << "the lost one answers after all: too late";
  EXPECT_EQ(after_call(next.next, policy, next.ticket, true, probed + 61s, 0).state,
            BreakerState::closed);
}

TEST(Breaker, TakesBackAProbeThatWasNeverMade) {
  const BreakerPolicy policy = by_row(3);
  const Admission unused = admit(open_breaker(), policy, noon + 10s);
  const Breaker back = give_back(unused.next, unused.ticket);
  EXPECT_EQ(back.probes_out, 0U);
  EXPECT_TRUE(admit(back, policy, noon + 10s).admitted);
  EXPECT_EQ(give_back(back, BreakerTicket{back.era + 1}), back);
}

TEST(Breaker, ObeysTheHand) {
  const BreakerPolicy policy = by_row(3);
  const Breaker held = force_open({});
  for (const Millis wait : {0ms, 10s + 0ms, 24h * 365 + 0ms}) {
    const Admission admission = admit(held, policy, noon + wait);
    EXPECT_FALSE(admission.admitted);
    EXPECT_EQ(admission.ask_again, noon + wait + 10s) << "somebody may close it meanwhile";
  }
  const Breaker freed = force_closed(held, noon);
  EXPECT_EQ(freed.state, BreakerState::closed);
  EXPECT_TRUE(admit(freed, policy, noon).admitted);
  const Admission before = admit({}, policy, noon);
  EXPECT_TRUE(after_call(force_open(before.next), policy, before.ticket, true, noon, 0).forced);
}

TEST(Breaker, IsNotHeldOpenByAClockThatJumpsBack) {
  const BreakerPolicy policy = by_row(3);
  EXPECT_TRUE(admit(open_breaker(), policy, noon - 1h).admitted);
  const Breaker half = admit(open_breaker(), policy, noon + 10s).next;
  EXPECT_TRUE(admit(half, policy, noon - 1h).admitted);
}

TEST(Breaker, PrintsItsStates) {
  EXPECT_EQ(name_of(BreakerState::closed), "closed");
  EXPECT_EQ(name_of(BreakerState::open), "open");
  EXPECT_EQ(name_of(BreakerState::half_open), "half_open");
}

BreakerPolicy gen_policy() {
  BreakerPolicy policy;
  policy.failure_share = *rc::gen::inRange(0, 12) / 10.0;
  policy.minimum_calls = *rc::gen::inRange<std::uint32_t>(0, 8);
  policy.consecutive = *rc::gen::inRange<std::uint32_t>(0, 5);
  policy.probes = *rc::gen::inRange<std::uint32_t>(0, 4);
  policy.cool_down = Millis{*rc::gen::inRange(0, 20'000)};
  policy.cool_down_jitter = *rc::gen::inRange(-5, 20) / 10.0;
  policy.probe_patience = Millis{*rc::gen::inRange(0, 20'000)};
  return policy;
}

TEST(Breaker, NeverWedgesAndNeverOverdrawsItsProbesWhateverHappens) {
  EXPECT_TRUE(rc::check([] {
    const BreakerPolicy policy = gen_policy();
    Breaker breaker;
    TimePoint now = noon;
    std::deque<BreakerTicket> out;
    for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100))) {
      now += Millis{step * 37 % 4'000};
      if (step == 99) now -= 2h;
      if (step < 50) {
        const Admission asked = admit(breaker, policy, now);
        RC_ASSERT(asked.admitted || asked.ask_again > now);
        RC_ASSERT(asked.admitted || asked.next == breaker);
        if (asked.admitted) out.push_back(asked.ticket);
        breaker = asked.next;
      } else if (!out.empty()) {
        const BreakerTicket ticket = out.front();
        out.pop_front();
        if (step < 55) continue;  // lost
        breaker = step < 60 ? give_back(breaker, ticket)
                            : after_call(breaker, policy, ticket, step % 2 == 0, now,
                                         static_cast<std::uint64_t>(step) << 57U);
      }
      RC_ASSERT(breaker.probes_out + breaker.probes_ok <= std::max(policy.probes, 1U));
      RC_ASSERT(breaker.state == BreakerState::half_open || breaker.probes_out == 0U);
    }
    // Never stuck: asking once more when told to is enough.
    const Admission asked = admit(breaker, policy, now);
    RC_ASSERT(asked.admitted || asked.ask_again <= now + 40s);
    RC_ASSERT(asked.admitted || admit(asked.next, policy, asked.ask_again).admitted);
  }));
}

TEST(Breaker, KnowsWhichFailuresSpeakOfTheTarget) {
  const auto says = [](const char* code, std::optional<int> status = {}) {
    Failure failure;
    failure.code = code;
    failure.status = status;
    return says_target_failed(failure);
  };
  for (const char* code :
       {"connection_refused", "connection_failed", "connection_reset", "dns", "timed_out", "tls",
        "transport", "protocol", "not_started", "ECONNREFUSED", "ETIMEDOUT"}) {
    EXPECT_TRUE(says(code)) << code;
  }
  for (const int status : {500, 502, 503, 504}) EXPECT_TRUE(says("", status)) << status;
  for (const int status : {301, 400, 403, 404, 409, 422, 429}) {
    EXPECT_FALSE(says("", status)) << status;
  }
  for (const char* code : {"", "exit:1", "exit:65", "invalid_json", "redirect"}) {
    EXPECT_FALSE(says(code)) << code;
  }
}

TEST(Breaker, AProbeThatReachedNobodyCostsNoAttempt) {  // R21: open burns no attempts
  const auto is_free = [](const char* code, bool probe, std::optional<int> status = {}) {
    Failure failure;
    failure.code = code;
    failure.status = status;
    return costs_no_attempt({1, probe}, failure);
  };
  for (const char* code : {"connection_refused", "connection_failed", "dns", "tls", "ECONNREFUSED",
                           "EHOSTUNREACH", "ENETUNREACH", "EAI_AGAIN"}) {
    EXPECT_TRUE(is_free(code, true)) << code;
    EXPECT_FALSE(is_free(code, false)) << code << ": a call like any other";
    EXPECT_FALSE(is_free(code, true, 503)) << code << ": somebody answered";
  }
  for (const char* code : {"", "timed_out", "connection_reset", "transport", "protocol", "exit:1",
                           "not_started", "ECONNRESET", "ETIMEDOUT"}) {
    EXPECT_FALSE(is_free(code, true)) << code << ": the message may be why";
  }
}

TEST(Breaker, KnowsWhichCallsAreProbes) {
  const BreakerPolicy policy;
  EXPECT_FALSE(admit(Breaker{}, policy, noon).ticket.probe);
  Breaker open;
  open.state = BreakerState::open;
  open.probe_at = noon;
  EXPECT_TRUE(admit(open, policy, noon).ticket.probe);
}

}  // namespace
}  // namespace dlo
