// Claims, leases and the way back (R1, R2-4, R2-5, R5, I7, I10).

#include <limits>
#include <set>

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

std::vector<RecordId> ids_of(const std::vector<Claim>& claims) {
  std::vector<RecordId> out;
  for (const Claim& claim : claims) out.push_back(claim.record.id);
  return out;
}

Transition settle(const Claim& claim, Status status, TimePoint now) {
  Transition done;
  done.id = claim.record.id;
  done.lease = claim.lease;
  done.to = status;
  done.now = now;
  return done;
}

TEST_P(OfficeSuite, TheLongestDueAreClaimedFirst) {
  apply({append_of(a_waiting(1, noon - seconds{1})), append_of(a_waiting(2, noon - seconds{3})),
         append_of(a_waiting(3, noon - seconds{2})), append_of(a_waiting(4, noon - seconds{3}))});
  EXPECT_EQ(ids_of(claim(3, noon)), (std::vector{id_of(2), id_of(4), id_of(3)}))
      << "by due time, then by arrival";
  EXPECT_EQ(ids_of(claim(3, noon)), (std::vector{id_of(1)}));
  EXPECT_TRUE(claim(3, noon).empty());
}

TEST_P(OfficeSuite, WhatIsNotDueIsNotClaimed) {
  DeadLetter unscheduled = a_letter(2);
  unscheduled.next_retry_at.reset();
  apply({append_of(a_waiting(1, noon + Millis{1})), append_of(unscheduled)});
  EXPECT_TRUE(claim(10, noon).empty());
  EXPECT_EQ(ids_of(claim(10, noon + Millis{1})), std::vector{id_of(1)}) << "due at its very moment";
}

TEST_P(OfficeSuite, AClockSetBackAnHourFreesNothingEarlyAndHoldsNothingForGood) {
  apply({append_of(a_waiting(1, noon)), append_of(a_waiting(2, noon)),
         append_of(a_waiting(3, noon + seconds{1}))});
  const auto held = claim(2, noon);
  ASSERT_EQ(ids_of(held), (std::vector{id_of(1), id_of(2)}));
  const TimePoint back = noon - hours{1};
  append(a_waiting(4, back + seconds{1}));
  EXPECT_TRUE(claim(9, back).empty());
  EXPECT_EQ(ids_of(claim(9, back + seconds{1})), std::vector{id_of(4)});
  apply_one(settle(held[0], Status::pending, back + seconds{2}));
  EXPECT_EQ(record(id_of(1)).status, Status::pending) << "its lease is as good as before";
  EXPECT_EQ(ids_of(claim(9, noon + hours{1})),
            (std::vector{id_of(4), id_of(1), id_of(2), id_of(3)}));
}

TEST_P(OfficeSuite, OnlyWaitingAndPendingRecordsAreHandedOut) {
  std::uint64_t n = 0;
  for (const Status status : all_statuses()) {
    DeadLetter letter = a_letter(++n);
    letter.next_retry_at = noon;
    bring_to(letter, status);
  }
  std::set<Status> handed;
  for (const Claim& one : claim(100, noon)) handed.insert(one.was);
  EXPECT_EQ(handed, (std::set{Status::waiting, Status::pending}));
}

TEST_P(OfficeSuite, AClaimAnswersTheRecordAsItStandsAndWhatItWas) {
  DeadLetter letter = a_full_letter(1);
  letter.status = Status::pending;
  append(letter);
  const TimePoint now = *letter.next_retry_at + seconds{1};
  const auto claims = claim(1, now, seconds{30});
  ASSERT_EQ(claims.size(), 1U);
  const Claim& one = claims[0];
  EXPECT_EQ(one.until, now + seconds{30});
  EXPECT_EQ(one.was, Status::pending);
  EXPECT_EQ(one.record.status, Status::pending);
  EXPECT_NE(one.lease, LeaseToken{});
  letter.counters.fetch += 1;
  EXPECT_EQ(print(one.record, false), print(letter, false));

  const DeadLetter kept = record(letter.id);
  EXPECT_EQ(kept.status, Status::retrying);
  EXPECT_EQ(kept.version, one.record.version);
  EXPECT_EQ(kept.version, 2U);
  EXPECT_EQ(kept.change, last_change());
  EXPECT_EQ(kept.counters.fetch, letter.counters.fetch) << "the claim is counted (R1)";
}

TEST_P(OfficeSuite, AWaitingRecordStaysWaitingWhileItIsClaimed) {
  append(a_waiting(1, noon));
  ASSERT_EQ(claim(1, noon).size(), 1U);
  EXPECT_EQ(record(id_of(1)).status, Status::waiting);
  EXPECT_EQ(record(id_of(1)).counters.fetch, 1U);
  EXPECT_EQ(tally("orders", Status::waiting, "network"), 1U);
}

TEST_P(OfficeSuite, ALeasedRecordIsHiddenUntilItsLeaseEnds) {
  append(a_waiting(1, noon));
  const auto first = claim(1, noon, seconds{30});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(claim(1, noon + seconds{30} - Millis{1}).empty());
  const auto second = claim(1, noon + seconds{30});
  ASSERT_EQ(second.size(), 1U);
  EXPECT_NE(second[0].lease, first[0].lease);
}

TEST_P(OfficeSuite, AWorkerThatLostItsLeaseCannotSettle) {
  append(a_waiting(1, noon));
  const Claim slow = claim(1, noon, seconds{30}).at(0);
  const Claim quick = claim(1, noon + seconds{30}, seconds{30}).at(0);
  EXPECT_EQ(refusal_of({settle(slow, Status::resolved, noon + seconds{31})}), Code::lease_lost);
  EXPECT_EQ(record(id_of(1)).status, Status::waiting);
  apply_one(settle(quick, Status::resolved, noon + seconds{31}));
  EXPECT_EQ(record(id_of(1)).status, Status::resolved);
}

TEST_P(OfficeSuite, AnEndedLeaseSettlesNothingEvenIfNobodyTookOver) {
  append(a_waiting(1, noon));
  const Claim late = claim(1, noon, seconds{30}).at(0);
  EXPECT_EQ(refusal_of({settle(late, Status::resolved, noon + seconds{30})}), Code::lease_lost);
  apply_one(settle(late, Status::resolved, noon + seconds{30} - Millis{1}));
}

TEST_P(OfficeSuite, ALeaseSettlesOnceAndOnlyItsOwnRecord) {
  apply({append_of(a_waiting(1, noon)), append_of(a_waiting(2, noon))});
  const auto claims = claim(2, noon);
  ASSERT_EQ(claims.size(), 2U);
  Transition crossed = settle(claims[0], Status::resolved, noon);
  crossed.id = claims[1].record.id;
  EXPECT_EQ(refusal_of({crossed}), Code::lease_lost);
  apply_one(settle(claims[0], Status::pending, noon));
  EXPECT_EQ(refusal_of({settle(claims[0], Status::resolved, noon)}), Code::lease_lost);
  Transition foreign = settle(claims[1], Status::resolved, noon);
  foreign.lease = LeaseToken{};
  EXPECT_EQ(refusal_of({foreign}), Code::lease_lost);
}

TEST_P(OfficeSuite, ARecordSentToWaitAgainIsClaimedWhenItIsDueAgain) {
  append(a_waiting(1, noon));
  Transition again = settle(claim(1, noon).at(0), Status::waiting, noon + seconds{1});
  again.next_retry_at = noon + hours{1};
  apply_one(again);
  EXPECT_TRUE(claim(1, noon + hours{1} - Millis{1}).empty());
  EXPECT_EQ(claim(1, noon + hours{1}).size(), 1U);
}

TEST_P(OfficeSuite, ARetryThatNobodyFinishesGoesBackToPending) {  // R2-4, I7
  DeadLetter letter = a_letter(1);
  letter.next_retry_at = noon;
  append(letter);
  const Claim lost = claim(1, noon, seconds{30}).at(0);
  EXPECT_EQ(record(id_of(1)).status, Status::retrying);
  EXPECT_EQ(tally("orders", Status::retrying, "network"), 1U);

  EXPECT_TRUE(claim(0, noon + seconds{30}).empty()) << "asking for none still takes back";
  const DeadLetter back = record(id_of(1));
  EXPECT_EQ(back.status, Status::pending);
  EXPECT_EQ(back.version, lost.record.version + 1);
  EXPECT_EQ(back.change, last_change());
  EXPECT_EQ(back.next_retry_at, std::optional(noon));
  EXPECT_EQ(tally("orders", Status::retrying, "network"), 0U);
  EXPECT_EQ(tally("orders", Status::pending, "network"), 1U);

  const auto next = claim(1, noon + seconds{30});
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].was, Status::pending);
  EXPECT_NE(next[0].lease, lost.lease);
  EXPECT_EQ(next[0].record.counters.fetch, 2U);
}

TEST_P(OfficeSuite, EndedLeasesOfOtherSourcesAreTakenBackToo) {
  DeadLetter letter = a_letter(1);
  letter.next_retry_at = noon;
  append(letter);
  ASSERT_EQ(claim(1, noon, seconds{30}, "orders").size(), 1U);
  EXPECT_TRUE(claim(1, noon + seconds{30}, seconds{30}, "payments").empty());
  EXPECT_EQ(record(id_of(1)).status, Status::pending);
}

TEST_P(OfficeSuite, AnAbandonedReplayKeepsItsStatusAndCanBeTakenOver) {
  const auto lost = bring_to(a_letter(1), Status::replaying);  // until noon + 30 s
  const TimePoint later = noon + seconds{30};
  EXPECT_TRUE(claim(10, later).empty());
  EXPECT_EQ(record(id_of(1)).status, Status::replaying);
  Transition take_over = to(Status::replaying, 1, later);
  take_over.lease_for = seconds{30};
  const auto lease = apply_one(take_over).lease;
  ASSERT_TRUE(lease);
  EXPECT_NE(*lease, *lost);
  EXPECT_EQ(refusal_of({take_over}), Code::conflict) << "live again, so nobody else can";
}

TEST_P(OfficeSuite, ClaimsCanBeKeptToOneSource) {
  DeadLetter other = a_waiting(2, noon - seconds{9});
  Message message = message_of(other);
  message.source = "payments";
  other.message = share(message);
  apply({append_of(a_waiting(1, noon)), append_of(other)});
  EXPECT_EQ(ids_of(claim(10, noon, seconds{30}, "orders")), std::vector{id_of(1)});
  EXPECT_TRUE(claim(10, noon, seconds{30}, "nobody").empty());
  EXPECT_EQ(ids_of(claim(10, noon, seconds{30}, "payments")), std::vector{id_of(2)});
}

DeadLetter of_source(DeadLetter letter, const std::string& source) {
  Message message = message_of(letter);
  message.source = source;
  letter.message = share(message);
  return letter;
}

TEST_P(OfficeSuite, ClaimsCanLeaveOutSourcesThatOthersHandOut) {
  std::vector<Change> changes;
  std::uint64_t n = 0;
  for (const char* source : {"orders", "a", "", "z", "orders2", "mail"}) {
    ++n;
    changes.push_back(append_of(of_source(a_waiting(n, noon - seconds{n}), source)));
    changes.push_back(append_of(of_source(a_waiting(n + 10, noon - seconds{n}), source)));
  }
  apply(changes);
  ClaimFrom from;
  from.without = {"a", "mail", "nobody", "z"};
  EXPECT_EQ(ids_of(claim(3, noon, seconds{30}, from)), (std::vector{id_of(5), id_of(15), id_of(3)}))
      << "longest due first, across sources";
  EXPECT_EQ(ids_of(claim(9, noon, seconds{30}, from)),
            (std::vector{id_of(13), id_of(1), id_of(11)}));
  EXPECT_EQ(claim(9, noon, seconds{30}).size(), 6U) << "the others are still there";
}

DeadLetter of_priority(DeadLetter letter, Priority priority) {
  Message message = message_of(letter);
  message.priority = priority;
  letter.message = share(message);
  return letter;
}

TEST_P(OfficeSuite, PriorityIsAHeadStartSoThatNobodyStarves) {  // S2-51
  using enum Priority;
  const auto due = [](std::uint64_t n, std::chrono::minutes ago, Priority priority) {
    return append_of(of_priority(a_waiting(n, noon - ago), priority));
  };
  using std::chrono::minutes;
  apply({due(1, minutes{0}, low), due(2, minutes{0}, normal), due(3, minutes{0}, high),
         due(4, minutes{6}, low), due(5, minutes{4}, low), due(6, minutes{11}, low),
         append_of(of_priority(a_waiting(7, noon + Millis{1}), high))});
  const std::vector expected{id_of(6), id_of(3), id_of(4), id_of(2), id_of(5), id_of(1)};
  EXPECT_EQ(ids_of(claim(3, noon, seconds{30}, "orders")),
            std::vector(expected.begin(), expected.begin() + 3))
      << "a low one that waited ten minutes longer goes before a high one";
  EXPECT_EQ(ids_of(claim(9, noon)), std::vector(expected.begin() + 3, expected.end()));
  EXPECT_EQ(next_due(), noon + Millis{1}) << "a head start makes nothing due";
}

TEST_P(OfficeSuite, ItIsKnownWhenTheNextIsDueWithoutAsking) {
  EXPECT_EQ(next_due(), std::nullopt);
  apply({append_of(a_waiting(1, noon + hours{2})),
         append_of(of_source(a_waiting(2, noon + hours{1}), "payments")),
         append_of(of_source(a_waiting(3, noon + hours{3}), "z"))});
  EXPECT_EQ(next_due(), noon + hours{1});
  EXPECT_EQ(next_due("orders"), noon + hours{2});
  EXPECT_EQ(next_due("nobody"), std::nullopt);
  ClaimFrom from;
  from.without = {"orders", "payments"};
  EXPECT_EQ(next_due(from), noon + hours{3});
  apply_one(to(Status::pending, 2));
  EXPECT_EQ(next_due(), noon + hours{1}) << "a dead letter whose retry is scheduled";
  Transition never = to(Status::pending, 2);
  never.clear_next_retry = true;
  apply_one(never);
  EXPECT_EQ(next_due(), noon + hours{2});
}

TEST_P(OfficeSuite, AskingBeforeALeaseEndsIsInVain) {
  append(a_waiting(1, noon));
  const auto held = claim(1, noon, seconds{30});
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(next_due(), noon + seconds{30}) << "then it is taken back";
  must(office().renew({{held[0].lease}}, noon + seconds{10}, seconds{30}));
  EXPECT_EQ(next_due(), noon + seconds{40});
  apply_one(settle(held[0], Status::resolved, noon + seconds{11}));
  EXPECT_EQ(next_due(), std::nullopt);
}

TEST_P(OfficeSuite, RenewingExtendsLiveLeasesAndOnlyThose) {
  apply({append_of(a_waiting(1, noon)), append_of(a_waiting(2, noon))});
  const auto claims = claim(2, noon, seconds{30});
  ASSERT_EQ(claims.size(), 2U);
  const std::uint64_t before = last_change();
  const TimePoint almost = noon + seconds{29};
  EXPECT_EQ(must(office().renew(std::vector{LeaseToken{}, claims[0].lease}, almost, seconds{30})),
            (std::vector{false, true}));
  EXPECT_EQ(last_change(), before) << "a renewal is no change of the record";

  EXPECT_EQ(ids_of(claim(2, noon + seconds{30})), std::vector{claims[1].record.id});
  EXPECT_EQ(must(office().renew(std::vector{claims[0].lease, claims[1].lease}, noon + seconds{58},
                                seconds{30})),
            (std::vector{true, false}));
  EXPECT_EQ(must(office().renew({{claims[0].lease}}, noon + seconds{88}, seconds{30})),
            std::vector{false})
      << "a lease ends at its end";
}

TEST_P(OfficeSuite, ARenewalNeverShortensALease) {
  append(a_waiting(1, noon));
  const Claim one = claim(1, noon, hours{2}).at(0);
  // A clock that jumped back an hour asks for less than there is.
  EXPECT_EQ(must(office().renew({{one.lease}}, noon - hours{1}, seconds{30})), std::vector{true});
  EXPECT_TRUE(claim(1, noon + hours{1}).empty());
  apply_one(settle(one, Status::resolved, noon + hours{1}));
}

TEST_P(OfficeSuite, AStartMarkCarriesTheLeaseOn) {  // R1
  append(a_waiting(1, noon));
  const Claim one = claim(1, noon, seconds{30}).at(0);
  Transition mark = settle(one, Status::waiting, noon + seconds{20});
  mark.counters = one.record.counters;
  mark.counters->attempt += 1;
  mark.lease_for = seconds{30};
  EXPECT_EQ(apply_one(mark).lease, std::optional(one.lease));
  EXPECT_TRUE(claim(1, noon + seconds{40}).empty()) << "carried on until noon + 50 s";
  EXPECT_EQ(record(id_of(1)).counters.attempt, 4U);
  apply_one(settle(one, Status::resolved, noon + seconds{45}));
}

TEST_P(OfficeSuite, PeopleOverruleWorkers) {
  DeadLetter letter = a_letter(1);
  letter.next_retry_at = noon;
  append(letter);
  const Claim worker = claim(1, noon).at(0);
  apply_one(to(Status::archived, 1, noon + seconds{1}));
  EXPECT_EQ(refusal_of({settle(worker, Status::pending, noon + seconds{2})}), Code::lease_lost);
  EXPECT_EQ(record(id_of(1)).status, Status::archived);
}

TEST_P(OfficeSuite, ATagOnALeasedRecordLeavesTheLeaseAlone) {
  append(a_waiting(1, noon));
  const Claim worker = claim(1, noon, seconds{30}).at(0);
  Transition tag = to(Status::waiting, 1, noon + seconds{1});
  tag.tags = std::vector<std::string>{"seen"};
  apply_one(tag);
  EXPECT_TRUE(claim(1, noon + seconds{2}).empty());
  apply_one(settle(worker, Status::resolved, noon + seconds{3}));
  EXPECT_EQ(record(id_of(1)).tags, std::vector<std::string>{"seen"});
}

TEST_P(OfficeSuite, NobodyTakesALeaseThatIsHeld) {
  const auto lease = bring_to(a_letter(1), Status::replaying);
  ASSERT_TRUE(lease);
  Transition other = to(Status::replaying, 1, noon + seconds{1});
  other.lease_for = seconds{30};
  EXPECT_EQ(refusal_of({other}), Code::conflict);
  Transition done = to(Status::replayed, 1, noon + seconds{2});
  done.lease = lease;
  apply_one(done);
}

TEST_P(OfficeSuite, StatesThatNeedALeaseCannotBeEnteredWithoutOne) {
  append(a_letter(1));
  EXPECT_EQ(refusal_of({to(Status::retrying, 1)}), Code::invalid_argument);
  EXPECT_EQ(refusal_of({to(Status::replaying, 1)}), Code::invalid_argument);
  Transition wrong = to(Status::archived, 1);
  wrong.lease_for = seconds{1};
  EXPECT_EQ(refusal_of({wrong}), Code::invalid_argument) << "an archived record is not held";
  EXPECT_EQ(record(id_of(1)).version, 1U);
}

TEST_P(OfficeSuite, ALeaseMustLast) {
  append(a_waiting(1, noon));
  for (const Millis bad : {Millis{0}, Millis{-1}, Millis::min()}) {
    const auto claims = office().claim(1, noon, bad, "");
    ASSERT_FALSE(claims);
    EXPECT_EQ(claims.error().code, Code::invalid_argument);
    const auto renewals = office().renew({}, noon, bad);
    ASSERT_FALSE(renewals);
    EXPECT_EQ(renewals.error().code, Code::invalid_argument);
  }
  const auto forever = claim(1, noon, Millis::max());
  ASSERT_EQ(forever.size(), 1U);
  EXPECT_GT(forever[0].until, noon);
  EXPECT_TRUE(claim(1, noon + hours{24 * 365 * 100}).empty());
}

TEST_P(OfficeSuite, AHugeLimitClaimsWhatThereIs) {
  apply({append_of(a_waiting(1, noon)), append_of(a_waiting(2, noon))});
  EXPECT_EQ(claim(std::numeric_limits<std::size_t>::max(), noon).size(), 2U);
}

TEST_P(OfficeSuite, ALeaseTokenIsNeverHandedOutTwice) {
  std::vector<Change> letters;
  for (std::uint64_t n = 1; n <= 20; ++n) letters.push_back(append_of(a_waiting(n, noon)));
  apply(letters);
  std::set<LeaseToken> seen;
  for (int round = 0; round < 5; ++round) {
    const TimePoint now = noon + seconds{30} * round;
    const auto claims = claim(20, now, seconds{30});
    ASSERT_EQ(claims.size(), 20U);
    for (const Claim& one : claims) EXPECT_TRUE(seen.insert(one.lease).second);
  }
}

TEST_P(OfficeSuite, ALaterLeaseOfARecordHasALargerToken) {  // so that whoever runs it can refuse
  std::vector<LeaseToken> given;
  const auto later = [&](const LeaseToken& lease) {
    if (!given.empty()) {
      EXPECT_GT(lease, given.back()) << "lease " << given.size();
    }
    given.push_back(lease);
  };
  const auto taken = [&](TimePoint now) {
    const auto claims = claim(1, now, seconds{30});
    ASSERT_EQ(claims.size(), 1U);
    later(claims.front().lease);
  };
  DeadLetter due = a_letter(1);
  due.next_retry_at = noon;
  append(due);
  taken(noon);
  taken(noon + seconds{30});  // the lease before it ended by itself
  taken(noon + hours{1});
  if (GetParam().durable) reopen();
  taken(noon + hours{2});
  Transition back = to(Status::pending, 1, noon + hours{2});
  back.lease = given.back();
  apply_one(back);
  Transition replay = to(Status::replaying, 1, noon + hours{2});
  replay.lease_for = seconds{30};
  later(apply_one(replay).lease.value());
  apply({to(Status::discarding, 1, noon + hours{2}), to(Status::discarded, 1, noon + hours{2}),
         Remove{id_of(1)}, append_of(due)});
  if (GetParam().durable) reopen();
  taken(noon + hours{3});
}

}  // namespace
}  // namespace dlo::testing
