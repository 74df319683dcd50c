// A list of changes happens wholly or not at all.

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

EditGroup note_on(std::uint64_t group, const std::string& notes) {
  EditGroup edit;
  edit.fingerprint = group_of(group);
  edit.notes = notes;
  return edit;
}

/// One good change of every kind, on an office that holds letters 1 to 3 (3 is discarded).
std::vector<std::pair<std::string, Change>> one_of_each() {
  Transition close = to(Status::resolved, 1);
  close.resolution = Resolution{noon, "ann", "manual", ""};
  Transition regroup = to(Status::pending, 1);
  regroup.fingerprint = Fingerprint{group_of(99), "elsewhere", "text"};
  DeadLetter again = a_letter(2);
  again.occurrence = 2;
  return {
      {"append", append_of(a_letter(10), {an_attempt(1)})},
      {"reopening append", append_of(again)},
      {"transition", close},
      {"regrouping transition", regroup},
      {"attempt", AddAttempt{id_of(1), an_attempt(9)}},
      {"version", AddVersion{id_of(1), 1, {}, "edited", noon, "ann", "typo"}},
      {"group", note_on(1, "half done")},
      {"document", PutDocument{"view", "new", "body", std::nullopt}},
      {"document overwritten", PutDocument{"view", "old", "changed", std::nullopt}},
      {"document removed", PutDocument{"view", "old", std::nullopt, std::nullopt}},
      {"checkpoint", JobCheckpoint{"job-1", "cursor", {{id_of(1), "replayed"}}}},
      {"audit", AddAudit{noon, "ann", "resolve", "record", ""}},
      {"remove", Remove{id_of(3)}},
  };
}

const std::vector<std::string> kinds = {"view", "job_cursor", "job_item:job-1"};

TEST_P(OfficeSuite, OneBadChangeInTheMiddleLeavesNothing) {
  apply({append_of(a_letter(1), {an_attempt(1)}), append_of(a_letter(2)), append_of(a_letter(3)),
         to(Status::discarding, 3), to(Status::discarded, 3),
         PutDocument{"view", "old", "before", std::nullopt},
         AddAudit{noon, "ann", "begin", "office", ""}});
  const std::string before = print(office(), kinds);
  for (const auto& [name, good] : one_of_each()) {
    const auto answer = try_apply({good, to(Status::resolved, 404), good});
    ASSERT_FALSE(answer) << name;
    EXPECT_EQ(answer.error().code, Code::not_found) << name;
    EXPECT_EQ(print(office(), kinds), before) << name;
  }
}

TEST_P(OfficeSuite, EachOfTheseChangesWouldHaveBeenSeen) {
  for (std::size_t i = 0; i < one_of_each().size(); ++i) {
    const auto kept = GetParam().make_empty();
    Office& fresh = kept->office();
    must(fresh.apply(std::vector<Change>{append_of(a_letter(1), {an_attempt(1)}),
                                         append_of(a_letter(2)), append_of(a_letter(3)),
                                         to(Status::discarding, 3), to(Status::discarded, 3),
                                         PutDocument{"view", "old", "before", std::nullopt}}));
    const std::string before = print(fresh, kinds);
    const auto [name, good] = one_of_each()[i];
    must(fresh.apply(std::vector<Change>{good}));
    EXPECT_NE(print(fresh, kinds), before) << name;
  }
}

TEST_P(OfficeSuite, ALongListWithABadEndLeavesNothing) {
  const std::string before = print(office(), kinds);
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 500; ++n) {
    changes.push_back(append_of(a_letter(n), {an_attempt(1)}));
    changes.push_back(AddAudit{noon, "engine", "dead-letter", to_string(id_of(n)), ""});
  }
  changes.push_back(Remove{id_of(1)});
  EXPECT_EQ(refusal_of(changes), Code::conflict);
  EXPECT_EQ(print(office(), kinds), before);
  changes.pop_back();
  EXPECT_EQ(apply(changes).size(), 1'000U);
}

TEST_P(OfficeSuite, TheErrorNamesTheChangeByItsPlace) {
  append(a_letter(1));
  const auto answer = try_apply({AddAttempt{id_of(1), an_attempt(1)}, to(Status::resolved, 404),
                                 AddAttempt{id_of(1), an_attempt(2)}});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().detail.find("change 2 of 3"), std::string::npos)
      << answer.error().detail;
  EXPECT_NE(answer.error().detail.find(to_string(id_of(404))), std::string::npos)
      << answer.error().detail;
}

TEST_P(OfficeSuite, ALaterChangeSeesWhatAnEarlierOneDid) {
  Transition close = to(Status::resolved, 1);
  close.expected_version = 2;
  const auto answers = apply(
      {append_of(a_letter(1)), AddAttempt{id_of(1), an_attempt(1)}, close, note_on(1, "known")});
  EXPECT_EQ(answers[2].version, 3U);
  EXPECT_EQ(record(id_of(1)).status, Status::resolved);
  EXPECT_EQ(group(group_of(1))->notes, "known");
}

TEST_P(OfficeSuite, AnEmptyListIsAnsweredWithAnEmptyList) {
  EXPECT_TRUE(apply({}).empty());
  EXPECT_EQ(last_change(), 0U);
}

}  // namespace
}  // namespace dlo::testing
