// Documents, job progress and the audit trail (R15, R23, R25).

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

PutDocument put(const std::string& key, std::optional<std::string> body,
                std::optional<std::uint64_t> expected = std::nullopt) {
  return {"view", key, std::move(body), expected};
}

std::vector<std::string> keys(const std::vector<Document>& documents) {
  std::vector<std::string> out;
  for (const Document& document : documents) out.push_back(document.key);
  return out;
}

TEST_P(OfficeSuite, ADocumentComesBackAsItWasPut) {
  const std::string body("{\"a\": 1}\0\xFF", 10);
  const std::uint64_t version = apply_one(put("mine", body)).version;
  const auto document = must(ledger().document("view", "mine"));
  ASSERT_TRUE(document);
  EXPECT_EQ(document->key, "mine");
  EXPECT_EQ(document->body, body);
  EXPECT_EQ(document->version, version);
  EXPECT_GT(version, 0U);
  EXPECT_FALSE(must(ledger().document("view", "MINE")));
  EXPECT_FALSE(must(ledger().document("recipe", "mine")));
}

TEST_P(OfficeSuite, AnEmptyBodyIsADocumentAndNoBodyIsNone) {
  apply_one(put("empty", ""));
  ASSERT_TRUE(must(ledger().document("view", "empty")));
  EXPECT_EQ(must(ledger().document("view", "empty"))->body, "");
  apply_one(put("empty", std::nullopt));
  EXPECT_FALSE(must(ledger().document("view", "empty")));
  EXPECT_TRUE(must(ledger().documents("view", "", 10)).empty());
  apply_one(put("empty", std::nullopt));  // removing nothing is fine
}

TEST_P(OfficeSuite, ADocumentCanBeCreatedOnlyOnce) {
  apply_one(put("token", "ann's", 0));
  EXPECT_EQ(refusal_of({put("token", "bob's", 0)}), Code::conflict);
  EXPECT_EQ(must(ledger().document("view", "token"))->body, "ann's");
}

TEST_P(OfficeSuite, ADocumentIsChangedOnlyFromTheVersionThatWasRead) {
  const std::uint64_t first = apply_one(put("plan", "one", 0)).version;
  const std::uint64_t second = apply_one(put("plan", "two", first)).version;
  EXPECT_GT(second, first);
  EXPECT_EQ(refusal_of({put("plan", "lost update", first)}), Code::conflict);
  EXPECT_EQ(refusal_of({put("plan", std::nullopt, first)}), Code::conflict);
  EXPECT_EQ(refusal_of({put("nowhere", "x", 5)}), Code::conflict);
  EXPECT_EQ(must(ledger().document("view", "plan"))->body, "two");
  apply_one(put("plan", "three"));  // unconditional
  EXPECT_EQ(must(ledger().document("view", "plan"))->body, "three");
}

TEST_P(OfficeSuite, AListThatReliesOnADocumentIsRefusedOnceThatHasMoved) {
  const std::uint64_t first = apply_one(put("leader", "ann", 0)).version;
  const ExpectDocument of_ann{"view", "leader", first};
  ASSERT_TRUE(office().apply(std::vector<Change>{of_ann, put("work", "by ann")}));
  EXPECT_EQ(must(ledger().document("view", "leader"))->version, first) << "it is only looked at";
  apply_one(put("leader", "bob", first));
  EXPECT_EQ(refusal_of({of_ann, put("work", "too late")}), Code::conflict);
  EXPECT_EQ(refusal_of({put("work", "too late"), of_ann}), Code::conflict);
  EXPECT_EQ(must(ledger().document("view", "work"))->body, "by ann");
  EXPECT_EQ(refusal_of({ExpectDocument{"view", "nowhere", 5}}), Code::conflict);
  EXPECT_EQ(refusal_of({ExpectDocument{"view", "leader", 0}}), Code::conflict);
  EXPECT_EQ(refusal_of({ExpectDocument{"", "leader", 1}}), Code::invalid_argument);
  apply_one(ExpectDocument{"view", "nowhere", 0});
}

TEST_P(OfficeSuite, AVersionNeverComesBackAfterARemoval) {
  const std::uint64_t read = apply_one(put("key", "first", 0)).version;
  apply_one(put("key", std::nullopt, read));
  apply_one(put("key", "second", 0));
  EXPECT_EQ(refusal_of({put("key", "from an old reader", read)}), Code::conflict);
}

TEST_P(OfficeSuite, DocumentsAreListedByKeyInByteOrder) {
  const std::string zero("a\0b", 3);
  const std::string high("a\xFF");
  apply({put("b", "1"), put("a", "1"), put(high, "1"), put(zero, "1"), put("B", "1"),
         PutDocument{"viewer", "aa", "other kind", std::nullopt}});
  EXPECT_EQ(keys(must(ledger().documents("view", "", 10))),
            (std::vector<std::string>{"B", "a", zero, high, "b"}));
  EXPECT_EQ(keys(must(ledger().documents("view", "a", 2))), (std::vector{zero, high}));
  EXPECT_TRUE(must(ledger().documents("view", "b", 10)).empty());
  EXPECT_TRUE(must(ledger().documents("view", "", 0)).empty());
  EXPECT_EQ(must(ledger().document("view", zero))->key, zero);
}

TEST_P(OfficeSuite, DocumentsNeedAKindAndAKey) {
  EXPECT_EQ(refusal_of({PutDocument{"", "key", "x", std::nullopt}}), Code::invalid_argument);
  EXPECT_EQ(refusal_of({PutDocument{"kind", "", "x", std::nullopt}}), Code::invalid_argument);
  EXPECT_EQ(refusal_of({JobCheckpoint{"", "cursor", {}}}), Code::invalid_argument);
}

TEST_P(OfficeSuite, AJobsProgressCommitsWithTheTransitionsItReports) {  // R23
  apply({append_of(a_letter(1)), append_of(a_letter(2)), append_of(a_letter(3))});
  apply({to(Status::resolved, 1), JobCheckpoint{"job-7", "after-1", {{id_of(1), "resolved"}}}});
  EXPECT_EQ(must(ledger().document(std::string(job_cursor_kind), "job-7"))->body, "after-1");

  // Number 404 is not there: neither the transition nor the progress of this step may stay.
  EXPECT_EQ(refusal_of({to(Status::resolved, 2), to(Status::resolved, 404),
                        JobCheckpoint{"job-7", "after-2", {{id_of(2), "resolved"}}}}),
            Code::not_found);
  EXPECT_EQ(refusal_of({JobCheckpoint{"job-7", "after-2", {{id_of(2), "resolved"}}},
                        to(Status::resolved, 404)}),
            Code::not_found);
  EXPECT_EQ(must(ledger().document(std::string(job_cursor_kind), "job-7"))->body, "after-1");
  EXPECT_EQ(must(ledger().documents(job_item_kind("job-7"), "", 10)).size(), 1U);

  apply({to(Status::resolved, 3),
         JobCheckpoint{"job-7", "after-3", {{id_of(3), "resolved"}, {id_of(2), "changed"}}}});
  apply_one(JobCheckpoint{"job-8", "elsewhere", {{id_of(1), "skipped"}}});
  EXPECT_EQ(must(ledger().document(std::string(job_cursor_kind), "job-7"))->body, "after-3");
  const auto items = must(ledger().documents(job_item_kind("job-7"), "", 10));
  ASSERT_EQ(items.size(), 3U);
  for (const auto& [n, outcome] :
       {std::pair{1, "resolved"}, std::pair{2, "changed"}, std::pair{3, "resolved"}}) {
    const auto item = must(
        ledger().document(job_item_kind("job-7"), to_string(id_of(static_cast<std::uint64_t>(n)))));
    ASSERT_TRUE(item) << n;
    EXPECT_EQ(item->body, outcome) << n;
  }
}

TEST_P(OfficeSuite, ALaterOutcomeOfAJobReplacesAnEarlierOne) {
  append(a_letter(1));
  apply_one(JobCheckpoint{"job", "1", {{id_of(1), "failed"}}});
  apply_one(JobCheckpoint{"job", "2", {{id_of(1), "replayed"}}});
  const auto items = must(ledger().documents(job_item_kind("job"), "", 10));
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].body, "replayed");
}

std::vector<AuditEntry> three_acts(Office& office) {
  const std::string odd("\0\xFFquote\"", 8);
  must(office.apply(
      std::vector<Change>{AddAudit{noon, "ann", "resolve", "record 1", "because"},
                          AddAudit{noon + Millis{1}, "token:ci", "replay", "group 2", odd}}));
  must(office.apply(std::vector<Change>{AddAudit{noon + Millis{2}, "", "", "", ""}}));
  return must(office.extras().ledger->audit(0, 100));
}

TEST_P(OfficeSuite, TheAuditTrailKeepsActsInOrderAndChained) {  // R25
  const auto entries = three_acts(office());
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].number, 1U);
  EXPECT_EQ(entries[0].previous, "");
  EXPECT_EQ(entries[0].act.at, noon);
  EXPECT_EQ(entries[0].act.actor, "ann");
  EXPECT_EQ(entries[0].act.act, "resolve");
  EXPECT_EQ(entries[0].act.subject, "record 1");
  EXPECT_EQ(entries[0].act.detail, "because");
  EXPECT_EQ(entries[1].act.detail, std::string("\0\xFFquote\"", 8));
  EXPECT_EQ(entries[2].number, 3U);
  EXPECT_EQ(entries[2].previous, entries[1].hash);
  EXPECT_EQ(entries[2].hash.size(), 64U);
  EXPECT_EQ(first_broken(entries), std::nullopt);

  const auto tail = must(ledger().audit(1, 1));
  ASSERT_EQ(tail.size(), 1U);
  EXPECT_EQ(tail[0].number, 2U);
  EXPECT_EQ(first_broken(tail, &entries[0]), std::nullopt);
  EXPECT_TRUE(must(ledger().audit(3, 10)).empty());
  EXPECT_TRUE(must(ledger().audit(1'000, 10)).empty());
}

TEST_P(OfficeSuite, AFlippedByteInTheAuditTrailShows) {
  const auto entries = three_acts(office());
  ASSERT_EQ(entries.size(), 3U);
  const std::vector<std::function<void(AuditEntry&)>> forgeries = {
      [](AuditEntry& e) { e.act.at += Millis{1}; },
      [](AuditEntry& e) { e.act.actor += "x"; },
      [](AuditEntry& e) { e.act.act = "Resolve"; },
      [](AuditEntry& e) { e.act.subject.clear(); },
      [](AuditEntry& e) { e.act.detail += std::string(1, '\0'); },
      [](AuditEntry& e) { e.previous = std::string(64, '0'); },
      [](AuditEntry& e) { e.hash[5] = e.hash[5] == 'a' ? 'b' : 'a'; },
      [](AuditEntry& e) { e.number += 1; },
  };
  for (std::size_t i = 0; i < forgeries.size(); ++i) {
    auto forged = entries;
    forgeries[i](forged[1]);
    EXPECT_EQ(first_broken(forged), std::optional<std::uint64_t>(2)) << i;
  }
  auto shortened = entries;
  shortened.erase(shortened.begin() + 1);
  EXPECT_EQ(first_broken(shortened), std::optional<std::uint64_t>(2));
}

TEST_P(OfficeSuite, AnAuditEntryTellsItsNumber) {
  EXPECT_EQ(apply_one(AddAudit{noon, "a", "b", "c", "d"}).number, 1);
  EXPECT_EQ(apply_one(AddAudit{noon, "a", "b", "c", "d"}).number, 2);
}

}  // namespace
}  // namespace dlo::testing
