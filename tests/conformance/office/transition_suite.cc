// Moving records: legality, compare-and-set, fields, attempts, versions, removal.

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

TEST_P(OfficeSuite, EveryIllegalStepIsRefusedAndEveryLegalOneTaken) {
  std::uint64_t n = 0;
  for (const Status from : all_statuses()) {
    for (const Status target : all_statuses()) {
      const std::string step = std::string(name_of(from)) + " to " + std::string(name_of(target));
      const auto lease = bring_to(a_letter(++n), from);
      Transition move = to(target, n);
      if (carries_lease(target)) move.lease_for = Millis{1'000};
      if (carries_lease(target) && from == target) move.lease = lease;
      const auto answer = try_apply({move});
      const Status expected = is_legal(from, target) ? target : from;
      EXPECT_EQ(answer.has_value(), is_legal(from, target)) << step;
      if (!answer) {
        EXPECT_EQ(answer.error().code, Code::conflict) << step;
      }
      EXPECT_EQ(record(id_of(n)).status, expected) << step;
    }
  }
}

TEST_P(OfficeSuite, AChangeAgainstAnOldVersionIsAConflict) {
  const Applied first = append(a_letter(1));
  Transition mine = to(Status::resolved, 1);
  mine.expected_version = first.version;
  Transition theirs = to(Status::archived, 1);
  theirs.expected_version = first.version;
  EXPECT_EQ(apply_one(theirs).version, first.version + 1);
  EXPECT_EQ(refusal_of({mine}), Code::conflict);
  EXPECT_EQ(record(id_of(1)).status, Status::archived);

  mine.expected_version = first.version + 2;  // nor is a version that never was
  EXPECT_EQ(refusal_of({mine}), Code::conflict);
}

TEST_P(OfficeSuite, EveryChangeOfARecordRaisesItsVersionByOneAndItsChangeNumber) {
  std::uint64_t version = append(a_letter(1)).version;
  std::uint64_t change = record(id_of(1)).change;
  EXPECT_EQ(version, 1U);
  EXPECT_GT(change, 0U);
  const std::vector<Change> changes = {to(Status::pending, 1), AddAttempt{id_of(1), an_attempt(1)},
                                       AddVersion{id_of(1), 3, {}, "edited", noon, "ann", "typo"},
                                       to(Status::resolved, 1)};
  for (const Change& next : changes) {
    EXPECT_EQ(apply_one(next).version, version + 1) << next.index();
    const DeadLetter now = record(id_of(1));
    EXPECT_EQ(now.version, version + 1) << next.index();
    EXPECT_GT(now.change, change) << next.index();
    EXPECT_EQ(now.change, last_change());
    version = now.version;
    change = now.change;
  }
}

TEST_P(OfficeSuite, ASettledSourceTakesTheMarkOffAndIsNoChangeOfTheRecord) {  // R3
  DeadLetter letter = a_letter(1);
  letter.source_unsettled = true;
  EXPECT_EQ(append(letter).occurrence, 1U);
  const DeadLetter before = record(id_of(1));
  ASSERT_TRUE(before.source_unsettled);
  apply_one(SourceSettled{id_of(1), 1});
  const DeadLetter after = record(id_of(1));
  EXPECT_FALSE(after.source_unsettled);
  EXPECT_EQ(after.version, before.version);
  EXPECT_EQ(after.change, before.change);
  EXPECT_EQ(last_change(), before.change);
  apply_one(SourceSettled{id_of(1), 1});  // nor does a second one do anything
  EXPECT_EQ(record(id_of(1)).version, before.version);

  Query unsettled;
  unsettled.source_unsettled = true;
  EXPECT_TRUE(must(office().list(unsettled)).rows.empty());
}

TEST_P(OfficeSuite, ALateWordOfTheSourceDoesNotSettleTheNextDeath) {  // R3
  DeadLetter letter = a_letter(1);
  letter.source_unsettled = true;
  letter.status = Status::resolved;
  append(letter);
  apply_one(SourceSettled{id_of(1), 1});
  letter.status = Status::pending;
  letter.died_at += Millis{1'000};
  const Applied again = append(letter);
  ASSERT_EQ(again.effect, Effect::reopened);
  ASSERT_EQ(again.occurrence, 2U);
  apply_one(SourceSettled{id_of(1), 1});
  EXPECT_TRUE(record(id_of(1)).source_unsettled);
  apply_one(SourceSettled{id_of(1), 2});
  EXPECT_FALSE(record(id_of(1)).source_unsettled);
}

TEST_P(OfficeSuite, ASettledSourceOfARecordThatIsGoneIsNoError) {
  append(a_letter(2));
  EXPECT_TRUE(try_apply({SourceSettled{id_of(1), 1}, to(Status::resolved, 2)}).has_value());
  EXPECT_EQ(record(id_of(2)).status, Status::resolved);
}

TEST_P(OfficeSuite, AFailureThatIsAddedSaysWhenItLastFailed) {
  DeadLetter letter = a_letter(1);
  letter.first_failed_at.reset();
  letter.last_failed_at.reset();
  append(letter);
  Transition move = to(Status::pending, 1);
  move.failure = Failure{};
  move.failure->text = "again";
  move.now = noon + Millis{5'000};
  apply_one(move);
  move.now = noon + Millis{9'000};
  apply_one(move);
  EXPECT_EQ(record(id_of(1)).first_failed_at, noon + Millis{5'000});
  EXPECT_EQ(record(id_of(1)).last_failed_at, noon + Millis{9'000});
}

TEST_P(OfficeSuite, ATransitionSetsWhatItCarriesAndKeepsTheRest) {
  DeadLetter letter = a_full_letter(1);
  letter.status = Status::pending;
  append(letter);

  EXPECT_EQ(apply_one(to(Status::exhausted, 1)).version, 2U);
  letter.status = Status::exhausted;
  EXPECT_EQ(print(record(letter.id), false), print(letter, false)) << "empty fields stay";

  Transition all = to(Status::resolved, 1);
  letter.status = all.to;
  letter.counters = *(all.counters = Counters{7, 6, 5, 4, 3, 2, 1});
  letter.failure = *(all.failure = Failure{"T", "text", "c", 404, {{"a", "b"}}, "s", Millis{2}});
  letter.last_failed_at = all.now;
  letter.reason = *(all.reason = "new reason");
  letter.description = *(all.description = "new description");
  letter.category = *(all.category = "new category");
  letter.rule = *(all.rule = "new rule");
  letter.policy = *(all.policy = "fixed base=9s");
  letter.limit = *(all.limit = 77);
  letter.fingerprint = *(all.fingerprint = Fingerprint{group_of(8), "new title", "type"});
  letter.next_retry_at = *(all.next_retry_at = noon + Millis{77});
  letter.resolution = *(all.resolution = Resolution{noon, "ann", "manual", "all good"});
  letter.tags = *(all.tags = std::vector<std::string>{"z", "a"});
  letter.died_at = *(all.died_at = noon + Millis{9});
  apply_one(all);
  EXPECT_EQ(print(record(letter.id), false), print(letter, false));
}

TEST_P(OfficeSuite, FieldsCanBeEmptiedAndTheNextRetryCleared) {
  append(a_full_letter(1));
  Transition emptying = to(Status::exhausted, 1);
  emptying.category = "";
  emptying.tags = std::vector<std::string>{};
  emptying.failure = Failure{};
  emptying.clear_next_retry = true;
  apply_one(emptying);
  const DeadLetter now = record(id_of(1));
  EXPECT_EQ(now.category, "");
  EXPECT_TRUE(now.tags.empty());
  EXPECT_EQ(now.failure, Failure{});
  EXPECT_FALSE(now.next_retry_at);
}

TEST_P(OfficeSuite, ARecordThatIsOpenAgainIsNotResolvedAnyMore) {
  append(a_letter(1));
  Transition close = to(Status::resolved, 1);
  close.resolution = Resolution{noon, "ann", "manual", "thought it was fixed"};
  apply_one(close);
  apply_one(to(Status::archived, 1));
  EXPECT_EQ(record(id_of(1)).resolution, close.resolution) << "archiving keeps it";
  apply_one(to(Status::pending, 1));
  EXPECT_FALSE(record(id_of(1)).resolution);
}

TEST_P(OfficeSuite, AttemptsComeNewestFirst) {
  append(a_letter(1), {an_attempt(1), an_attempt(2)});
  apply({AddAttempt{id_of(1), an_attempt(3)}, AddAttempt{id_of(1), an_attempt(4)}});
  const auto attempts = detail(id_of(1)).attempts;
  ASSERT_EQ(attempts.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(print(attempts[i]), print(an_attempt(4 - i)));
}

TEST_P(OfficeSuite, OfManyAttemptsTheFirstAndTheNewestAreKept) {
  std::vector<Attempt> early;
  std::vector<Change> later;
  for (std::uint32_t i = 1; i <= 60; ++i) early.push_back(an_attempt(i));
  for (std::uint32_t i = 61; i <= 100; ++i) later.push_back(AddAttempt{id_of(1), an_attempt(i)});
  append(a_letter(1), early);
  EXPECT_EQ(detail(id_of(1)).attempts.size(), attempts_kept);
  apply(later);

  const auto attempts = detail(id_of(1)).attempts;
  ASSERT_EQ(attempts.size(), attempts_kept);
  EXPECT_EQ(attempts.back().number, 1U);
  for (std::uint32_t i = 0; i + 1 < attempts_kept; ++i) EXPECT_EQ(attempts[i].number, 100 - i);
}

TEST_P(OfficeSuite, EditsAppendAndTheOriginalIsNeverChanged) {
  const Message original = message_of(a_full_letter(1));
  std::uint64_t version = append(a_full_letter(1)).version;
  const Headers headers = {{"fixed", "yes", HeaderType::boolean}};
  version =
      apply_one(AddVersion{id_of(1), version, headers, "first edit", noon, "ann", "typo"}).version;
  apply_one(AddVersion{id_of(1), version, {}, std::nullopt, noon + Millis{5}, "bob", "no body"});

  const RecordDetail kept = detail(id_of(1));
  EXPECT_EQ(print(*kept.record.message), print(original));
  ASSERT_EQ(kept.versions.size(), 3U);
  EXPECT_EQ(kept.versions[0].number, 0U);
  EXPECT_EQ(kept.versions[0].headers, original.headers);
  EXPECT_EQ(kept.versions[0].payload, original.payload);
  EXPECT_EQ(kept.versions[1].number, 1U);
  EXPECT_EQ(kept.versions[1].headers, headers);
  EXPECT_EQ(kept.versions[1].payload, std::optional<std::string>("first edit"));
  EXPECT_EQ(kept.versions[1].by, "ann");
  EXPECT_EQ(kept.versions[1].why, "typo");
  EXPECT_EQ(kept.versions[1].at, noon);
  EXPECT_EQ(kept.versions[2].number, 2U);
  EXPECT_TRUE(kept.versions[2].headers.empty());
  EXPECT_EQ(kept.versions[2].payload, std::nullopt);
}

TEST_P(OfficeSuite, TwoPeopleCannotEditTheSameVersion) {
  const std::uint64_t version = append(a_letter(1)).version;
  apply_one(AddVersion{id_of(1), version, {}, "ann's", noon, "ann", ""});
  EXPECT_EQ(refusal_of({AddVersion{id_of(1), version, {}, "bob's", noon, "bob", ""}}),
            Code::conflict);
  EXPECT_EQ(detail(id_of(1)).versions.size(), 2U);
}

TEST_P(OfficeSuite, OnlyDiscardedAndExpiredRecordsAreRemoved) {
  std::uint64_t n = 0;
  for (const Status status : all_statuses()) {
    bring_to(a_letter(++n), status);
    const bool removable = status == Status::discarded || status == Status::expired;
    const auto answer = try_apply({Remove{id_of(n)}});
    EXPECT_EQ(answer.has_value(), removable) << name_of(status);
    if (!answer) {
      EXPECT_EQ(answer.error().code, Code::conflict) << name_of(status);
    }
    EXPECT_EQ(is_there(id_of(n)), !removable) << name_of(status);
  }
}

TEST_P(OfficeSuite, OfARemovedRecordNothingIsLeftButItsGroupsCount) {
  DeadLetter letter = a_letter(1);
  letter.failure.text = "peculiar";
  const Applied first = append(letter, {an_attempt(1)});
  apply_one(AddVersion{id_of(1), first.version, {}, "edited", noon, "ann", ""});
  apply({to(Status::discarding, 1), to(Status::discarded, 1), Remove{id_of(1)}});

  EXPECT_FALSE(is_there(id_of(1)));
  Query all;
  all.statuses.assign(all_statuses().begin(), all_statuses().end());
  EXPECT_TRUE(ids(all).empty());
  Query words;
  words.error_words = "peculiar";
  words.statuses = all.statuses;
  EXPECT_TRUE(ids(words).empty());
  EXPECT_TRUE(must(office().aggregate({})).tallies.empty());
  EXPECT_TRUE(must(office().changes_since(0, 10)).empty());
  EXPECT_EQ(group(group_of(1))->total, 1U);
  EXPECT_EQ(group(group_of(1))->open, 0U);

  // Its id is free again, and nothing of the old one shines through.
  EXPECT_EQ(append(a_letter(1)).effect, Effect::applied);
  EXPECT_GT(record(id_of(1)).number, first.number);
  EXPECT_TRUE(detail(id_of(1)).attempts.empty());
  EXPECT_TRUE(detail(id_of(1)).versions.empty());
}

TEST_P(OfficeSuite, ChangesAreToldOldestFirstAndEachRecordOnce) {
  apply({append_of(a_letter(1)), append_of(a_letter(2)), append_of(a_letter(3))});
  const std::uint64_t before = last_change();
  apply_one(to(Status::resolved, 2));
  apply_one(to(Status::exhausted, 1));
  append(a_letter(1));  // merged: not a change

  const auto all = must(office().changes_since(0, 100));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].id, id_of(3));
  EXPECT_EQ(all[1].id, id_of(2));
  EXPECT_EQ(all[2].id, id_of(1));
  EXPECT_LT(all[0].change, all[1].change);
  EXPECT_LT(all[1].change, all[2].change);
  EXPECT_EQ(all[1].status, Status::resolved);
  EXPECT_EQ(all[2].status, Status::exhausted);
  EXPECT_EQ(all[2].change, last_change());

  const auto news = must(office().changes_since(before, 100));
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0].id, id_of(2));
  const auto one = must(office().changes_since(before, 1));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].id, id_of(2));
  EXPECT_TRUE(must(office().changes_since(last_change(), 100)).empty());
}

TEST_P(OfficeSuite, AChangeOfOtherFieldsKeepsThePriority) {
  DeadLetter urgent = a_waiting(1, noon);
  Message message = message_of(urgent);
  message.priority = Priority::high;
  urgent.message = share(message);
  apply({append_of(a_waiting(2, noon - std::chrono::minutes{1})), append_of(urgent)});
  Transition again = to(Status::waiting, 1);
  again.category = "another";
  apply_one(again);
  EXPECT_EQ(claim(1, noon).at(0).record.id, id_of(1));
}

}  // namespace
}  // namespace dlo::testing
