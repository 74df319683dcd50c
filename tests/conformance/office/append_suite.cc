// Appending: identity, idempotence, the next occurrence (R3, I4).

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

TEST_P(OfficeSuite, ARecordComesBackByteForByte) {
  const DeadLetter letter = a_full_letter(1);
  append(letter, {an_attempt(1), an_attempt(2)});

  const RecordDetail kept = detail(letter.id);
  EXPECT_EQ(print(kept.record, false), print(letter, false));
  ASSERT_EQ(kept.attempts.size(), 2U);
  EXPECT_EQ(print(kept.attempts[0]), print(an_attempt(2)));
  EXPECT_EQ(print(kept.attempts[1]), print(an_attempt(1)));
  EXPECT_TRUE(kept.versions.empty());
}

TEST_P(OfficeSuite, ARecordOfEmptyFieldsComesBackAsEmptyFields) {
  DeadLetter letter;
  letter.id = id_of(1);
  letter.message = share(Message{});
  append(letter);
  EXPECT_EQ(print(record(letter.id), false), print(letter, false));
}

TEST_P(OfficeSuite, ANullPayloadIsNotAnEmptyOne) {
  Message null_payload = message_of(a_letter(1));
  null_payload.payload = std::nullopt;
  Message empty_payload = message_of(a_letter(2));
  empty_payload.payload = "";
  DeadLetter null_letter = a_letter(1);
  null_letter.message = share(null_payload);
  DeadLetter empty_letter = a_letter(2);
  empty_letter.message = share(empty_payload);
  apply({append_of(null_letter), append_of(empty_letter)});

  EXPECT_EQ(record(id_of(1)).message->payload, std::nullopt);
  EXPECT_EQ(record(id_of(2)).message->payload, std::optional<std::string>(""));
}

TEST_P(OfficeSuite, AppendingTheSameDeathTwiceChangesNothing) {
  const Applied first = append(a_letter(1), {an_attempt(1)});
  const std::string before = print(office(), {});

  DeadLetter repeat = a_letter(1);
  repeat.reason = "another reason";
  const Applied second = append(repeat, {an_attempt(2)});

  EXPECT_EQ(first.effect, Effect::applied);
  EXPECT_EQ(first.version, 1U);
  EXPECT_EQ(second.effect, Effect::merged);
  EXPECT_EQ(second.version, first.version);
  EXPECT_EQ(second.number, first.number);
  EXPECT_EQ(print(office(), {}), before);
}

TEST_P(OfficeSuite, TheSameRecordTwiceInOneListIsOneRecord) {
  const auto answers = apply({append_of(a_letter(1)), append_of(a_letter(1))});
  EXPECT_EQ(answers[0].effect, Effect::applied);
  EXPECT_EQ(answers[1].effect, Effect::merged);
  EXPECT_EQ(ids({}).size(), 1U);
  EXPECT_EQ(tally("orders", Status::pending, "network"), 1U);
}

TEST_P(OfficeSuite, NumbersGrowWithArrivalWhateverTheTimeOfDeath) {
  DeadLetter older = a_letter(2);
  older.died_at = noon - Millis{60'000};
  const Applied first = append(a_letter(1));
  const Applied second = append(older);
  EXPECT_GT(first.number, 0);
  EXPECT_GT(second.number, first.number);
  EXPECT_EQ(record(id_of(2)).number, second.number);
}

TEST_P(OfficeSuite, TheNextOccurrenceTakesOverTheRecord) {
  const Applied first = append(a_letter(1), {an_attempt(1)});
  DeadLetter again = a_letter(1);
  again.occurrence = 2;
  again.reason = "PoisonMessage";
  again.died_at = noon + Millis{60'000};
  const Applied second = append(again, {an_attempt(2)});

  EXPECT_EQ(second.effect, Effect::reopened);
  EXPECT_EQ(second.number, first.number);
  EXPECT_EQ(second.version, first.version + 1);
  const RecordDetail kept = detail(id_of(1));
  EXPECT_EQ(print(kept.record, false), print(again, false));
  EXPECT_EQ(kept.record.number, first.number);
  ASSERT_EQ(kept.attempts.size(), 2U);
  EXPECT_EQ(kept.attempts[0].number, 2U);
  EXPECT_EQ(kept.attempts[1].number, 1U);
  EXPECT_EQ(ids({}).size(), 1U);
}

TEST_P(OfficeSuite, ALateRepeatOfAnEarlierOccurrenceChangesNothing) {
  append(a_letter(1));
  DeadLetter third = a_letter(1);
  third.occurrence = 3;
  append(third);
  const std::string before = print(office(), {});
  DeadLetter late = a_letter(1);
  late.occurrence = 2;
  EXPECT_EQ(append(late).effect, Effect::merged);
  EXPECT_EQ(print(office(), {}), before);
}

TEST_P(OfficeSuite, ANewDeathUnderAClosedRecordOpensTheNextOccurrence) {
  append(a_letter(1));
  Transition close = to(Status::resolved, 1);
  close.resolution = Resolution{noon, "ann", "manual", "fixed"};
  apply_one(close);
  DeadLetter again = a_letter(1);
  again.died_at = noon + Millis{86'400'000};
  EXPECT_EQ(append(again).effect, Effect::reopened);

  const DeadLetter kept = record(id_of(1));
  EXPECT_EQ(kept.occurrence, 2U);
  EXPECT_EQ(kept.status, Status::pending);
  EXPECT_EQ(kept.died_at, again.died_at);
  EXPECT_FALSE(kept.resolution);
}

TEST_P(OfficeSuite, AReopenedRecordKeepsTheTagsPeopleGaveIt) {
  DeadLetter first = a_letter(1);
  first.tags = {"vip", "eu"};
  append(first);
  DeadLetter again = a_letter(1);
  again.occurrence = 2;
  again.tags = {"eu", "late"};
  append(again);
  EXPECT_EQ(record(id_of(1)).tags, (std::vector<std::string>{"vip", "eu", "late"}));
}

TEST_P(OfficeSuite, AReportUnderARecordThatWasSentBackCountsItsReplaysOn) {  // R9
  append(a_letter(1));
  Transition send = to(Status::replaying, 1);
  send.lease_for = Millis{60'000};
  send.counters = Counters{};
  send.counters->replay = 3;
  apply_one(send);
  Transition cured = to(Status::resolved, 1);
  cured.resolution = Resolution{noon, "", "republished", ""};
  apply_one(cured);
  DeadLetter again = a_letter(1);
  again.counters.replay = 0;
  again.died_at = noon + Millis{1'000};
  append(again);
  EXPECT_EQ(record(id_of(1)).counters.replay, 3U);
}

TEST_P(OfficeSuite, AReportUnderARecordThatWasNeverSentBackBringsItsOwnCounts) {
  DeadLetter first = a_letter(1);
  first.counters.replay = 2;
  append(first);
  Transition close = to(Status::resolved, 1);
  close.resolution = Resolution{noon, "ann", "manual", ""};
  apply_one(close);
  DeadLetter again = a_letter(1);
  again.counters.replay = 0;
  again.died_at = noon + Millis{1'000};
  append(again);
  EXPECT_EQ(record(id_of(1)).counters.replay, 0U);
}

TEST_P(OfficeSuite, AReopenedRecordKeepsTheMessageThatDiedFirst) {
  append(a_letter(1));
  Message changed = message_of(a_letter(1));
  changed.payload = "corrected";
  changed.headers = {{"dlo-replay", "1", HeaderType::text}};
  DeadLetter again = a_letter(1);
  again.occurrence = 2;
  again.message = share(changed);
  again.died_at = noon + Millis{1'000};
  append(again);

  const RecordDetail kept = detail(id_of(1));
  EXPECT_EQ(print(*kept.record.message), print(changed));
  ASSERT_EQ(kept.versions.size(), 2U);
  EXPECT_EQ(kept.versions[0].number, 0U);
  EXPECT_EQ(kept.versions[0].payload, a_letter(1).message->payload);
  EXPECT_EQ(kept.versions[0].headers, a_letter(1).message->headers);
  EXPECT_EQ(kept.versions[1].number, 1U);
  EXPECT_EQ(kept.versions[1].payload, std::optional<std::string>("corrected"));
  EXPECT_EQ(kept.versions[1].headers, changed.headers);
  EXPECT_EQ(kept.versions[1].at, again.died_at);
}

TEST_P(OfficeSuite, AnUnchangedMessageAddsNoVersionWhenItComesBack) {
  append(a_letter(1));
  DeadLetter again = a_letter(1);
  again.occurrence = 2;
  append(again);
  EXPECT_TRUE(detail(id_of(1)).versions.empty());
}

TEST_P(OfficeSuite, AMessageSentBackAsEditedAddsNoSecondVersionOfTheEdit) {
  const Applied first = append(a_letter(1));
  const Headers headers = {{"dlo-replay", "1", HeaderType::text}};
  apply_one(AddVersion{id_of(1), first.version, headers, "edited", noon, "ann", "typo"});
  Message edited = message_of(a_letter(1));
  edited.headers = headers;
  edited.payload = "edited";
  DeadLetter again = a_letter(1);
  again.occurrence = 2;
  again.message = share(edited);
  append(again);
  EXPECT_EQ(detail(id_of(1)).versions.size(), 2U);
}

TEST_P(OfficeSuite, AnOccurrenceThatComesInEndsTheLeaseOfTheOneBefore) {
  const auto lease = bring_to(a_letter(1), Status::replaying);
  DeadLetter again = a_letter(1);
  again.occurrence = 2;
  append(again);
  Transition late = to(Status::replayed, 1, noon + Millis{1});
  late.lease = lease;
  EXPECT_EQ(refusal_of({late}), Code::lease_lost);
  EXPECT_EQ(must(office().renew({{*lease}}, noon, Millis{1'000})), std::vector<bool>{false});
}

struct BadAppend {
  const char* name;
  std::function<void(Append&, DeadLetter&)> spoil;
};

TEST_P(OfficeSuite, WhatCannotBeARecordIsRefusedBeforeAnythingIsDone) {
  const std::vector<BadAppend> table = {
      {"no record", [](Append& append, DeadLetter&) { append.record = nullptr; }},
      {"no message", [](Append&, DeadLetter& letter) { letter.message = nullptr; }},
      {"occurrence 0", [](Append&, DeadLetter& letter) { letter.occurrence = 0; }},
      {"retrying", [](Append&, DeadLetter& letter) { letter.status = Status::retrying; }},
      {"replaying", [](Append&, DeadLetter& letter) { letter.status = Status::replaying; }},
  };
  for (const BadAppend& row : table) {
    DeadLetter letter = a_letter(1);
    Append bad;
    bad.record = std::make_shared<const DeadLetter>(letter);
    row.spoil(bad, letter);
    if (bad.record) bad.record = std::make_shared<const DeadLetter>(letter);
    EXPECT_EQ(refusal_of({append_of(a_letter(2)), bad}), Code::invalid_argument) << row.name;
    EXPECT_FALSE(is_there(id_of(1))) << row.name;
    EXPECT_FALSE(is_there(id_of(2))) << row.name;
  }
}

TEST_P(OfficeSuite, WhatIsNotThereIsNotFound) {
  EXPECT_FALSE(is_there(id_of(404)));
  EXPECT_EQ(refusal_of({to(Status::pending, 404)}), Code::not_found);
  EXPECT_EQ(refusal_of({AddAttempt{id_of(404), an_attempt(1)}}), Code::not_found);
  EXPECT_EQ(refusal_of({AddVersion{id_of(404), 1, {}, "x", noon, "", ""}}), Code::not_found);
  EXPECT_EQ(refusal_of({Remove{id_of(404)}}), Code::not_found);
  EditGroup edit;
  edit.fingerprint = group_of(404);
  EXPECT_EQ(refusal_of({edit}), Code::not_found);
}

}  // namespace
}  // namespace dlo::testing
