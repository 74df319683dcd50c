// Tallies and groups: kept as records change, equal to a recount at any time (R9, R15).

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

using std::chrono::minutes;

DeadLetter dead(std::uint64_t n, std::uint64_t group, TimePoint died_at = noon) {
  DeadLetter letter = a_letter(n);
  letter.fingerprint = {group_of(group), "title " + std::to_string(n), "text"};
  letter.died_at = died_at;
  return letter;
}

EditGroup say(std::uint64_t group, GroupStatus status) {
  EditGroup edit;
  edit.fingerprint = group_of(group);
  edit.status = status;
  return edit;
}

std::vector<Id128> order_of(Office& office, GroupOrder order, std::size_t limit) {
  AggregateRequest request;
  request.groups = limit;
  request.group_order = order;
  std::vector<Id128> out;
  for (const auto& group : must(office.aggregate(request)).groups) out.push_back(group.fingerprint);
  return out;
}

TEST_P(OfficeSuite, AnEmptyOfficeCountsNothing) {
  AggregateRequest request;
  request.groups = 10;
  const Aggregate numbers = must(office().aggregate(request));
  EXPECT_TRUE(numbers.tallies.empty());
  EXPECT_TRUE(numbers.groups.empty());
  EXPECT_EQ(numbers.last_change, 0U);
  EXPECT_EQ(numbers.unindexed_payloads, 0U);
}

TEST_P(OfficeSuite, TalliesAreSortedAndLeaveZerosOut) {
  DeadLetter b = a_letter(1);
  b.category = "b";
  DeadLetter a = a_letter(2);
  a.category = "a";
  DeadLetter closed = a_letter(3);
  closed.category = "a";
  closed.status = Status::resolved;
  DeadLetter elsewhere = a_letter(4);
  Message message = message_of(elsewhere);
  message.source = "alpha";
  elsewhere.message = share(message);
  apply({append_of(b), append_of(a), append_of(closed), append_of(elsewhere),
         append_of(a_waiting(5, noon))});
  apply_one(to(Status::resolved, 4));

  std::vector<std::string> rows;
  for (const Tally& tally : must(office().aggregate({})).tallies) {
    rows.push_back(tally.source + "/" + std::string(name_of(tally.status)) + "/" + tally.category +
                   "=" + std::to_string(tally.count));
  }
  EXPECT_EQ(rows, (std::vector<std::string>{"alpha/resolved/network=1", "orders/waiting/network=1",
                                            "orders/pending/a=1", "orders/pending/b=1",
                                            "orders/resolved/a=1"}));
}

TEST_P(OfficeSuite, AskedForNoTalliesNoneAreGiven) {
  append(a_letter(1));
  AggregateRequest request;
  request.tallies = false;
  EXPECT_TRUE(must(office().aggregate(request)).tallies.empty());
}

TEST_P(OfficeSuite, ACountFollowsItsRecordToAnotherCategory) {
  append(a_letter(1));
  Transition change = to(Status::pending, 1);
  change.category = "validation";
  apply_one(change);
  EXPECT_EQ(tally("orders", Status::pending, "network"), 0U);
  EXPECT_EQ(tally("orders", Status::pending, "validation"), 1U);
}

TEST_P(OfficeSuite, ACountFollowsItsRecordToAnotherSource) {
  append(a_letter(1));
  DeadLetter again = a_letter(1);
  again.occurrence = 2;
  Message message = message_of(again);
  message.source = "payments";
  again.message = share(message);
  append(again);
  EXPECT_EQ(tally("orders", Status::pending, "network"), 0U);
  EXPECT_EQ(tally("payments", Status::pending, "network"), 1U);
}

TEST_P(OfficeSuite, AGroupKnowsItsDeaths) {
  DeadLetter newest = dead(2, 7, noon + minutes{9});
  newest.category = "validation";
  apply({append_of(dead(1, 7, noon + minutes{5})), append_of(newest),
         append_of(dead(3, 7, noon + minutes{1})), append_of(dead(4, 8))});
  const auto seven = group(group_of(7));
  ASSERT_TRUE(seven);
  EXPECT_EQ(seven->open, 3U);
  EXPECT_EQ(seven->total, 3U);
  EXPECT_EQ(seven->first_seen, noon + minutes{1});
  EXPECT_EQ(seven->last_seen, noon + minutes{9});
  EXPECT_EQ(seven->sample, id_of(2)) << "the newest death, not the last arrival";
  EXPECT_EQ(seven->title, "title 2");
  EXPECT_EQ(seven->category, "validation");
  EXPECT_EQ(seven->source, "orders");
  EXPECT_EQ(seven->status, GroupStatus::open);
  EXPECT_FALSE(group(group_of(9)));
}

TEST_P(OfficeSuite, AGroupCountsWhatIsOpen) {
  apply({append_of(dead(1, 1)), append_of(dead(2, 1)), append_of(dead(3, 1))});
  apply({to(Status::resolved, 1), to(Status::archived, 2), to(Status::exhausted, 3)});
  EXPECT_EQ(group(group_of(1))->open, 1U);
  EXPECT_EQ(group(group_of(1))->total, 3U);
  apply_one(to(Status::pending, 2));
  EXPECT_EQ(group(group_of(1))->open, 2U);
  EXPECT_EQ(group(group_of(1))->total, 3U) << "restoring is no death";
}

TEST_P(OfficeSuite, ARepeatedAppendIsNoSecondDeath) {
  append(dead(1, 1));
  append(dead(1, 1));
  EXPECT_EQ(group(group_of(1))->total, 1U);
}

TEST_P(OfficeSuite, EveryOccurrenceIsADeath) {
  append(dead(1, 1));
  DeadLetter again = dead(1, 1, noon + minutes{1});
  again.occurrence = 2;
  append(again);
  EXPECT_EQ(group(group_of(1))->open, 1U);
  EXPECT_EQ(group(group_of(1))->total, 2U);
  again = dead(1, 2, noon + minutes{2});  // it now dies of something else
  again.occurrence = 3;
  append(again);
  EXPECT_EQ(group(group_of(1))->open, 0U);
  EXPECT_EQ(group(group_of(1))->total, 2U);
  EXPECT_EQ(group(group_of(2))->open, 1U);
  EXPECT_EQ(group(group_of(2))->total, 1U);
}

TEST_P(OfficeSuite, MessagesThatWaitAreInNoGroup) {  // R9
  append(a_waiting(1, noon));
  EXPECT_FALSE(group(group_of(1)));
  apply_one(to(Status::resolved, 1));
  EXPECT_FALSE(group(group_of(1))) << "its retry succeeded: nothing died";

  append(a_waiting(2, noon));
  Transition death = to(Status::exhausted, 2);
  death.died_at = noon + minutes{3};
  apply_one(death);
  ASSERT_TRUE(group(group_of(1)));
  EXPECT_EQ(group(group_of(1))->open, 1U);
  EXPECT_EQ(group(group_of(1))->total, 1U);
  EXPECT_EQ(group(group_of(1))->first_seen, noon + minutes{3});

  apply_one(to(Status::pending, 1));  // somebody reopens the one that had succeeded
  EXPECT_EQ(group(group_of(1))->open, 2U);
  EXPECT_EQ(group(group_of(1))->total, 2U);
}

TEST_P(OfficeSuite, ARecordTakesItsDeathAlongToAnotherGroup) {
  apply({append_of(dead(1, 1)), append_of(dead(2, 1))});
  Transition regroup = to(Status::pending, 1);
  regroup.fingerprint = Fingerprint{group_of(2), "another title", "text"};
  apply_one(regroup);
  EXPECT_EQ(group(group_of(1))->open, 1U);
  EXPECT_EQ(group(group_of(1))->total, 1U);
  ASSERT_TRUE(group(group_of(2)));
  EXPECT_EQ(group(group_of(2))->open, 1U);
  EXPECT_EQ(group(group_of(2))->total, 1U);
  EXPECT_EQ(group(group_of(2))->title, "another title");
  EXPECT_EQ(group(group_of(2))->sample, id_of(1));
}

TEST_P(OfficeSuite, AResolvedGroupIsOpenAgainWhenItComesBack) {
  append(dead(1, 1));
  apply({to(Status::resolved, 1), say(1, GroupStatus::resolved)});
  append(dead(1, 1));  // a late repeat of the same append is nothing new
  EXPECT_EQ(group(group_of(1))->status, GroupStatus::resolved);
  append(dead(2, 1, noon + minutes{1}));
  EXPECT_EQ(group(group_of(1))->status, GroupStatus::open);
}

TEST_P(OfficeSuite, OnlyAResolvedGroupIsOpenedByANewDeath) {
  std::uint64_t n = 0;
  for (const GroupStatus status : {GroupStatus::acknowledged, GroupStatus::fixing,
                                   GroupStatus::snoozed, GroupStatus::ignored}) {
    ++n;
    apply({append_of(dead(n, n)), say(n, status)});
    append(dead(n + 100, n, noon + minutes{1}));
    EXPECT_EQ(group(group_of(n))->status, status) << name_of(status);
  }
}

TEST_P(OfficeSuite, ASnoozedGroupWakesWhenItsTimeIsUp) {
  EditGroup snooze = say(1, GroupStatus::snoozed);
  snooze.snoozed_until = noon + minutes{10};
  apply({append_of(dead(1, 1)), snooze});
  EXPECT_EQ(group(group_of(1))->snoozed_until, snooze.snoozed_until);
  append(dead(2, 1, noon + minutes{10} - Millis{1}));
  EXPECT_EQ(group(group_of(1))->status, GroupStatus::snoozed);
  append(dead(3, 1, noon + minutes{10}));
  EXPECT_EQ(group(group_of(1))->status, GroupStatus::open);
  EXPECT_FALSE(group(group_of(1))->snoozed_until);
}

TEST_P(OfficeSuite, WhatPeopleSaidOfAGroupSurvives) {
  EditGroup edit = say(1, GroupStatus::fixing);
  edit.owner = "ann";
  edit.ticket = "OPS-7";
  edit.notes = "the \"certificate\"\nexpired";
  apply({append_of(dead(1, 1)), edit});
  EditGroup more;
  more.fingerprint = group_of(1);
  more.ticket = "";
  apply_one(more);
  apply({append_of(dead(2, 1, noon + minutes{1})), to(Status::resolved, 1)});
  const auto now = group(group_of(1));
  EXPECT_EQ(now->status, GroupStatus::fixing);
  EXPECT_EQ(now->owner, "ann");
  EXPECT_EQ(now->ticket, "");
  EXPECT_EQ(now->notes, "the \"certificate\"\nexpired");
  EXPECT_EQ(now->total, 2U);
}

TEST_P(OfficeSuite, GroupsComeByLastSeenOrBySize) {
  apply({append_of(dead(1, 1, noon + minutes{3})), append_of(dead(2, 2, noon + minutes{1})),
         append_of(dead(3, 2, noon + minutes{2})), append_of(dead(4, 3, noon + minutes{2})),
         append_of(dead(5, 3, noon)), append_of(dead(6, 4, noon + minutes{9}))});
  apply_one(to(Status::resolved, 6));
  using Ids = std::vector<Id128>;
  EXPECT_EQ(order_of(office(), GroupOrder::last_seen, 10),
            (Ids{group_of(4), group_of(1), group_of(2), group_of(3)}));
  EXPECT_EQ(order_of(office(), GroupOrder::open_count, 10),
            (Ids{group_of(2), group_of(3), group_of(1), group_of(4)}));
  EXPECT_EQ(order_of(office(), GroupOrder::open_count, 2), (Ids{group_of(2), group_of(3)}));
  EXPECT_TRUE(order_of(office(), GroupOrder::last_seen, 0).empty());
}

TEST_P(OfficeSuite, RecordsAreCountedByTheKindOfTheirPolicy) {  // S2-25
  using Counts = std::map<std::pair<Status, PolicyKind>, std::uint64_t>;
  const auto counts = [this] {
    Counts found;
    for (const PolicyTally& each : must(office().aggregate({})).policies) {
      found[{each.status, each.kind}] += each.count;
    }
    return found;
  };
  const auto with = [](std::uint64_t n, std::string policy) {
    DeadLetter letter = a_letter(n);
    letter.policy = std::move(policy);
    letter.next_retry_at = noon;
    return letter;
  };
  apply({append_of(with(1, "exponential base=1m factor=2 cap=1h")),
         append_of(with(2, "exponential base=1s factor=2")), append_of(with(3, "linear base=5m")),
         append_of(with(4, "")), append_of(with(5, "of another age"))});
  append(with(1, "linear base=5m"));
  EXPECT_EQ(counts(), (Counts{{{Status::pending, PolicyKind::exponential}, 2},
                              {{Status::pending, PolicyKind::linear}, 1},
                              {{Status::pending, PolicyKind::never}, 2}}))
      << "each once, by what it was first kept with";

  const Claim one = claim(1, noon).at(0);
  Transition failed = to(Status::exhausted, 1);
  failed.lease = one.lease;
  apply_one(failed);
  apply({to(Status::resolved, 2), to(Status::resolved, 3), to(Status::discarding, 4),
         to(Status::discarded, 4), Remove{id_of(4)}});
  EXPECT_NE(refusal_of({append_of(with(6, "fixed base=1s")), to(Status::retrying, 6)}), Code{});
  DeadLetter again = with(3, "list delays=1m,2m");
  again.occurrence = 2;
  apply({append_of(again)});
  const Counts all{{{Status::exhausted, PolicyKind::exponential}, 1},
                   {{Status::resolved, PolicyKind::exponential}, 1},
                   {{Status::pending, PolicyKind::list}, 1},
                   {{Status::pending, PolicyKind::never}, 1}};
  EXPECT_EQ(counts(), all);
  EXPECT_EQ(must(office().get(one.record.id)).record.policy, "exponential base=1m factor=2 cap=1h");
  reopen();
  if (GetParam().durable) {
    EXPECT_EQ(counts(), all) << "a restart forgets nothing";
  }
}

TEST_P(OfficeSuite, APolicyThatChangesIsCountedAsWhatItIsNow) {  // S2-25
  const auto expect = [this](PolicyKind kind, const std::string& policy, std::uint32_t limit) {
    EXPECT_EQ(record(id_of(1)).policy, policy);
    EXPECT_EQ(record(id_of(1)).limit, limit);
    const auto counted = must(office().aggregate({})).policies;
    ASSERT_EQ(counted.size(), 1U) << "in no other place any more";
    EXPECT_EQ(counted.front().kind, kind);
    EXPECT_EQ(counted.front().count, 1U);
  };
  DeadLetter letter = a_letter(1);
  letter.policy = "never";
  letter.limit = 3;
  append(letter);
  Transition move = to(Status::pending, 1);
  move.policy = "linear base=5m";
  apply_one(move);
  expect(PolicyKind::linear, "linear base=5m", 3);
  move.policy = "linear base=7m";
  apply_one(move);
  expect(PolicyKind::linear, "linear base=7m", 3);
  move.policy.reset();
  move.limit = 0;
  apply_one(move);
  expect(PolicyKind::linear, "linear base=7m", 0);
  move.policy = "never";
  move.limit = 5;
  EXPECT_NE(refusal_of({move, to(Status::retrying, 1)}), Code{});
  expect(PolicyKind::linear, "linear base=7m", 0);
  apply_one(move);
  reopen();
  if (GetParam().durable) expect(PolicyKind::never, "never", 5);
}

TEST_P(OfficeSuite, WhatBecameOfDeadLettersIsCountedForEver) {  // S2-25
  const auto lifetime = [this] { return must(office().aggregate({})).lifetime; };
  DeadLetter scheduled = a_letter(1);
  scheduled.next_retry_at = noon;
  apply({append_of(scheduled), append_of(a_waiting(2, noon + std::chrono::hours{9}))});
  append(scheduled);
  EXPECT_EQ(lifetime(), (Lifetime{.enqueued = 1})) << "once, and not what only waits";

  const auto settle = [&](Status status) {
    const Claim one = claim(1, noon + std::chrono::hours{1}).at(0);
    Transition end = to(status, 1, noon + std::chrono::hours{1});
    end.lease = one.lease;
    end.counters = one.record.counters;
    return end;
  };
  Transition failed = settle(Status::pending);
  ++failed.counters->failure;
  failed.next_retry_at = noon;
  apply_one(failed);
  EXPECT_EQ(lifetime(), (Lifetime{.enqueued = 1, .retry_failed = 1}));
  Transition given_back = settle(Status::pending);
  apply_one(given_back);
  EXPECT_EQ(lifetime().retry_failed, 1U) << "it did not run";
  Transition last = settle(Status::exhausted);
  ++last.counters->failure;
  last.clear_next_retry = true;
  last.reason = "exhausted";
  apply_one(last);
  EXPECT_EQ(lifetime(), (Lifetime{.enqueued = 1, .retry_failed = 2, .exhausted = 1}));

  Transition asked = to(Status::pending, 1);
  asked.next_retry_at = noon + std::chrono::minutes{1};
  apply_one(asked);
  Transition again = settle(Status::exhausted);
  ++again.counters->failure;
  again.reason = "exhausted";
  apply_one(again);
  EXPECT_EQ(lifetime().exhausted, 1U) << "a task is exhausted once, whoever tries it again";
  asked.next_retry_at = noon + std::chrono::minutes{2};
  apply_one(asked);
  Transition done = settle(Status::resolved);
  done.resolution = Resolution{noon, "engine", "retried", ""};
  apply_one(done);
  apply_one(to(Status::archived, 1));
  const Lifetime all{.enqueued = 1,
                     .retry_success = 1,
                     .retry_failed = 3,
                     .exhausted = 1,
                     .manually_retried = 2,
                     .archived = 1};
  EXPECT_EQ(lifetime(), all);
  EXPECT_NE(refusal_of({append_of(a_letter(3)), to(Status::retrying, 3)}), Code{});
  EXPECT_EQ(lifetime(), all) << "what was refused did not happen";
  reopen();
  if (GetParam().durable) {
    EXPECT_EQ(lifetime(), all) << "a restart forgets nothing";
  }
}

}  // namespace
}  // namespace dlo::testing
