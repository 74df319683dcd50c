#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>

#include "support/must.h"

#include "dlo/json/json.h"
#include "dlo/json/text/scanner.h"

namespace dlo {
namespace {

using dlo::testing::must;
using dlo::testing::noon;
using ::testing::HasSubstr;

AuditEntry entry_after(const std::string& previous, std::uint64_t number, AddAudit act) {
  AuditEntry entry{number, std::move(act), previous, ""};
  entry.hash = audit_hash(previous, number, entry.act);
  return entry;
}

TEST(AuditJson, HasStableNamesInAStableOrder) {
  const AuditEntry entry{7, {noon, "ann", "replay", "group 1", "{\"n\":3}"}, "abc", "def"};
  EXPECT_EQ(to_json(entry),
            R"({"number":7,"at":"2026-03-01T12:00:00.000Z","actor":"ann","act":"replay",)"
            R"("subject":"group 1","detail":"{\"n\":3}","previous":"abc","hash":"def"})");
}

RC_GTEST_PROP(AuditJson, AnExportedEntryStillProvesItself,
              (std::string actor, std::string detail)) {
  const AuditEntry first = entry_after("", 1, {noon, actor, "a", "s", "d"});
  const AuditEntry second = entry_after(first.hash, 2, {noon, "x", "a", "s\xFF", detail});
  const std::vector<AuditEntry> read = {must(parse_audit_entry(to_json(first))),
                                        must(parse_audit_entry(to_json(second)))};
  RC_ASSERT(first_broken(read) == std::nullopt);
}

TEST(AuditJson, AnEntryThatLacksSomethingIsRefused) {
  const AuditEntry entry = entry_after("", 1, {noon, "ann", "replay", "s", "d"});
  const std::string whole = to_json(entry);
  for (const char* name :
       {"number", "at", "actor", "act", "subject", "detail", "previous", "hash"}) {
    std::string text = whole;
    text.replace(text.find('"' + std::string(name) + "\":") + 1, 1, "_");
    const auto refused = parse_audit_entry(text);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().where, "json.audit");
    EXPECT_THAT(refused.error().detail, HasSubstr(std::string(name) + " is missing"));
  }
}

PoisonItem orchestration() {
  PoisonItem item;
  item.poison_id = 9;
  item.record = RecordId{{1, 2}};
  item.instance_id = "order-7";
  item.execution_id = 3;
  item.abandon_count = 11;
  item.poisoned_at = noon;
  return item;
}

PoisonItem activity() {
  PoisonItem item = orchestration();
  item.activity = Activity{"Charge", 5};
  item.last_error = "card \"declined\"";
  return item;
}

TEST(PoisonJson, AnOrchestrationHasTheFieldsOfItsDocument) {  // S3-37
  EXPECT_EQ(to_json(orchestration()),
            R"({"poison_id":9,"kind":"orchestration","message_type":"Orchestration",)"
            R"("id":"00000000000000010000000000000002",)"
            R"("instance_id":"order-7","abandon_count":11,"last_error":null,)"
            R"("poisoned_at":"2026-03-01T12:00:00.000Z"})");
}

TEST(PoisonJson, AnActivityAddsItsExecutionNameAndId) {  // S3-37
  EXPECT_EQ(to_json(activity()),
            R"({"poison_id":9,"kind":"activity",)"
            R"("message_type":{"Activity":{"activity_name":"Charge","activity_id":5}},)"
            R"("id":"00000000000000010000000000000002",)"
            R"("instance_id":"order-7","execution_id":3,"activity_name":"Charge","activity_id":5,)"
            R"("abandon_count":11,"last_error":"card \"declined\"",)"
            R"("poisoned_at":"2026-03-01T12:00:00.000Z"})");
}

TEST(PoisonJson, TheDetailAddsWorkItemAndCreation) {  // S3-38
  auto message = std::make_shared<Message>();
  message->payload = "\xFF";
  const PoisonDetail detail{orchestration(), message, noon};
  EXPECT_THAT(to_json(detail),
              HasSubstr(R"("poisoned_at":"2026-03-01T12:00:00.000Z","work_item":"/w==",)"
                        R"("work_item_encoding":"base64",)"
                        R"("original_created_at":"2026-03-01T12:00:00.000Z"})"));
  message->payload = "{}";
  EXPECT_THAT(to_json(PoisonDetail{activity(), message, noon}),
              HasSubstr(R"("work_item":"{}","input":"{}","original_created_at")"));
  message->payload.reset();
  EXPECT_THAT(to_json(PoisonDetail{activity(), message, noon}),
              HasSubstr(R"("work_item":null,"input":null,)"));
}

}  // namespace
}  // namespace dlo
