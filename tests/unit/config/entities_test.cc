// Kinds of entities, and how their owners hear of deaths: `entities`.
#include <gtest/gtest.h>
#include <string>

#include "unit/config/reading_text.h"

#include "dlo/config/config.h"

namespace dlo {
namespace {

ConfigReading reading(const std::string& file) {
  return read_config({file, {}, {}});
}

TEST(Entities, PaymentsAreBuiltIn) {
  const auto read = reading("");
  ASSERT_EQ(read.config.entities.size(), 1U);
  EXPECT_EQ(read.config.entities.front().kind, payment_kind());
  EXPECT_TRUE(read.config.entities.front().effect.kind.empty());
}

TEST(Entities, WhatIsBuiltInIsChangedAndOthersAreAdded) {
  const auto read = reading(
      "profiles: {mine: {base: booking-retry-api+safe}}\n"
      "entities:\n"
      "  payment: {limit: 5, effect: {http: 'https://pay.example/dead', secret_file: s, timeout: "
      "5s}}\n"
      "  shipment:\n"
      "    title: Parcel\n    source: parcels\n    type: ParcelFailed\n    profile: mine\n"
      "    fields: [OrderId, Carrier]\n    payload: {id: Parcel, retry_count: Tries}\n"
      "    effect:\n      sql: UPDATE parcels SET status = $2 WHERE id = $1\n"
      "      database: postgresql://shop:hunter2@db/shop\n      values: [id, status]\n");
  EXPECT_EQ(problems_of(read), "");
  ASSERT_EQ(read.config.entities.size(), 2U);
  EntityKind payment = payment_kind();
  payment.limit = 5;
  payment.has_effect = true;
  EXPECT_EQ(
      read.config.entities[0],
      (EntitySettings{payment, {"http", "https://pay.example/dead", "s", "", {}, Millis{5'000}}}));
  const EntitySettings& shipment = read.config.entities[1];
  EXPECT_EQ(shipment.kind.title, "Parcel");
  EXPECT_EQ(shipment.kind.source, "parcels");
  EXPECT_EQ(shipment.kind.event_type, "ParcelFailed");
  EXPECT_EQ(shipment.kind.profile, "mine");
  EXPECT_EQ(shipment.kind.fields, (std::vector<std::string>{"OrderId", "Carrier"}));
  EXPECT_EQ(shipment.kind.id_key, "Parcel");
  EXPECT_EQ(shipment.kind.retry_count_key, "Tries");
  EXPECT_EQ(shipment.kind.created_key, "OriginalCreatedAt");
  EXPECT_EQ(shipment.effect.values, (std::vector<std::string>{"id", "status"}));
  std::string shown;
  for (const auto& each : show_config(read.config, "dlo.yaml", false)) {
    shown += each.path + "=" + each.value + "\n";
  }
  EXPECT_EQ(shown.find("hunter2"), std::string::npos);
  EXPECT_NE(shown.find("entities.shipment=source \"parcels\", type \"ParcelFailed\", profile mine, "
                       "owner told by sql\n"),
            std::string::npos)
      << shown;
}

TEST(Entities, AnOfficeInADatabaseIsWhereStatementsRunUnlessSomebodySaysOtherwise) {
  const std::string effect = "entities: {payment: {effect: {sql: SELECT $1, values: [id]}}}\n";
  EXPECT_EQ(problems_of(reading("office: postgresql://db/dlo\n" + effect)), "");
  EXPECT_NE(problems_of(reading(effect)).find("in which database"), std::string::npos);
}

TEST(Entities, WhatIsWrongIsNamedWithItsLine) {
  struct Row {
    const char* file;
    const char* says;
  };
  for (const auto& [file, says] : std::initializer_list<Row>{
           {"entities: 3\n", "1: entities holds settings by name"},
           {"entities: {Payment: {limit: 2}}\n", "1: entities.Payment: the name of a kind"},
           {"entities: {payment: 3}\n", "1: entities.payment holds settings by name"},
           {"entities: {payment: {limt: 3}}\n", "did you mean \"limit\""},
           {"entities: {payment: {limit: 0}}\n", "entities.payment.limit"},
           {"entities: {payment: {profile: bookin}}\n", "did you mean \"booking\""},
           {"entities: {payment: {fields: x}}\n", "is a list of at most 100 names"},
           {"entities: {payment: {fields: [A, A]}}\n", "names \"A\" twice"},
           {"entities: {payment: {fields: [RetryCount]}}\n", "would have two \"RetryCount\""},
           {"entities: {payment: {payload: {idd: x}}}\n", "did you mean \"id\""},
           {"entities: {payment: {effect: {timeout: 1s}}}\n", "how its owner hears of it"},
           {"entities: {payment: {effect: {http: a, sql: b}}}\n", "is one thing: http or sql"},
           {"entities: {payment: {effect: {http: a, values: [id]}}}\n", "are for sql"},
           {"entities: {payment: {effect: {sql: a, secret_file: b, values: [id]}}}\n",
            "only what is sent over HTTP is signed"},
           {"entities: {payment: {effect: {sql: a, database: b}}}\n", "must say what $1, $2"},
           {"entities: {payment: {effect: {sql: a, database: b, values: [ids]}}}\n",
            "did you mean \"id\""},
       }) {
    const std::string all = problems_of(reading(file));
    EXPECT_NE(all.find(says), std::string::npos) << file << all;
  }
}

TEST(Entities, ChangesNeedARestart) {
  EXPECT_EQ(needs_restart(reading("").config, reading("entities: {a: {limit: 2}}\n").config),
            std::vector<std::string>{"entities"});
}

}  // namespace
}  // namespace dlo
