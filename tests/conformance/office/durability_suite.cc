// What was answered survives a restart (I6, R2-3).

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

using std::chrono::seconds;

#define SKIP_UNLESS_DURABLE() \
  if (!GetParam().durable) GTEST_SKIP() << "keeps nothing beyond its process, and says so"

TEST_P(OfficeSuite, ARestartRestoresEverything) {
  SKIP_UNLESS_DURABLE();
  DeadLetter again = a_letter(2);
  again.occurrence = 2;
  EditGroup edit;
  edit.fingerprint = group_of(1);
  edit.status = GroupStatus::snoozed;
  edit.snoozed_until = noon + seconds{60};
  edit.notes = "noted";
  apply({append_of(a_full_letter(1), {an_attempt(1), an_attempt(2)}), append_of(a_letter(2)),
         append_of(again), append_of(a_waiting(3, noon)), append_of(a_letter(4)),
         to(Status::resolved, 4), AddVersion{id_of(2), 2, {}, "edited", noon, "ann", "typo"}, edit,
         PutDocument{"view", "v", "body", 0}, JobCheckpoint{"j", "c", {{id_of(4), "resolved"}}},
         AddAudit{noon, "ann", "resolve", "4", ""}});
  const std::vector<std::string> kinds = {"view", "job_cursor", job_item_kind("j")};
  const std::string before = print(office(), kinds);
  reopen();
  EXPECT_EQ(print(office(), kinds), before);
  settle_indexes();
  Query query;
  query.error_words = "refused";
  EXPECT_EQ(ids(query).size(), 2U);
}

TEST_P(OfficeSuite, NumbersAndTheAuditChainGoOnAfterARestart) {
  SKIP_UNLESS_DURABLE();
  const Applied first = append(a_letter(1));
  apply_one(AddAudit{noon, "a", "b", "c", "d"});
  const std::uint64_t change = last_change();
  reopen();
  EXPECT_EQ(last_change(), change);
  EXPECT_GT(append(a_letter(2)).number, first.number);
  EXPECT_GT(last_change(), change);
  EXPECT_EQ(apply_one(AddAudit{noon, "a", "b", "c", "d"}).number, 2);
  EXPECT_EQ(first_broken(must(ledger().audit(0, 10))), std::nullopt);
}

TEST_P(OfficeSuite, LeasesSurviveARestartAndAreNeverGivenTwice) {
  SKIP_UNLESS_DURABLE();
  apply({append_of(a_waiting(1, noon)), append_of(a_waiting(2, noon + seconds{1}))});
  const Claim held = claim(1, noon, seconds{30}).at(0);
  reopen();
  EXPECT_EQ(must(office().renew({{held.lease}}, noon + seconds{1}, seconds{30})),
            std::vector<bool>{true});
  const auto others = claim(10, noon + seconds{1});
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(others[0].record.id, id_of(2));
  EXPECT_NE(others[0].lease, held.lease);
  Transition done = to(Status::resolved, 1, noon + seconds{2});
  done.lease = held.lease;
  apply_one(done);
}

TEST_P(OfficeSuite, WhatWasRefusedIsNotThereAfterARestartEither) {
  SKIP_UNLESS_DURABLE();
  EXPECT_EQ(refusal_of({append_of(a_letter(1)), Remove{id_of(1)}}), Code::conflict);
  reopen();
  EXPECT_FALSE(is_there(id_of(1)));
  EXPECT_TRUE(must(office().aggregate({})).tallies.empty());
}

}  // namespace
}  // namespace dlo::testing
