#include "dlo/outbox/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/outbox/row.h"
#include "dlo/outbox/statements.h"

namespace dlo::outbox {
namespace {

using ::dlo::testing::must;
using ::testing::HasSubstr;
using ::testing::Not;

TableFacts facts_of(const Shape& shape) {
  TableFacts facts;
  for (const Role& role : roles()) {
    if (const std::string& column = shape.columns.*(role.column); !column.empty()) {
      facts[column] = "text";
    }
  }
  for (const Condition& each : shape.pending) facts[each.column] = "text";
  for (const Setting& each : shape.done) facts[each.column] = "text";
  return facts;
}

TEST(Shapes, EveryOneFitsATableThatHasItsColumns) {
  ASSERT_EQ(shapes().size(), 5U);
  for (const Shape& shape : shapes()) {
    const auto fitting = fit(shape, facts_of(shape));
    ASSERT_TRUE(fitting.has_value()) << shape.name;
    EXPECT_EQ(*fitting, shape);
    for (const std::string& role : shape.needed) {
      Shape copy = shape;
      EXPECT_TRUE(set_column(copy, role, "x").has_value()) << shape.name << " needs " << role;
    }
  }
}

TEST(Shapes, AnUnknownNameIsRefusedWithTheNearest) {
  const auto found = find_shape("debezum");
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(found.error().detail, HasSubstr("did you mean \"debezium\""));
}

TEST(Shapes, NamesAreQuotedWhateverIsInThem) {
  EXPECT_EQ(quoted("a\"; DROP TABLE x; --"), "\"a\"\"; DROP TABLE x; --\"");
  EXPECT_EQ(literal("it's \\"), "E'it''s \\\\'");
  Shape shape = must(find_shape("own"));
  must(set_table(shape, "s.a\"b"));
  EXPECT_EQ(shape.schema, "s");
  const auto statements = statements_of(shape, facts_of(shape));
  for (const std::string& sql : {statements.read, statements.done, statements.dead, statements.left,
                                 statements.failed, statements.done_free}) {
    EXPECT_THAT(sql, HasSubstr("\"s\".\"a\"\"b\""));
    EXPECT_THAT(sql, Not(HasSubstr("a\"b\"")));
  }
}

TEST(Shapes, WhatCannotBeANameIsRefused) {
  Shape shape = must(find_shape("own"));
  EXPECT_FALSE(set_table(shape, "").has_value());
  EXPECT_FALSE(set_table(shape, "s.").has_value());
  EXPECT_FALSE(set_table(shape, std::string(64, 'x')).has_value());
  EXPECT_FALSE(set_column(shape, "key", std::string("a\0b", 3)).has_value());
  EXPECT_FALSE(set_column(shape, "id", "none").has_value());
  const auto role = set_column(shape, "kee", "x");
  ASSERT_FALSE(role.has_value());
  EXPECT_THAT(role.error().detail, HasSubstr("did you mean \"key\""));
}

TEST(Shapes, ColumnsThatATableLacksAreDoneWithoutUnlessSomebodyNamedThem) {
  Shape shape = must(find_shape("own"));
  TableFacts facts{{"id", "bigint"},
                   {"event_type", "text"},
                   {"payload", "bytea"},
                   {"published_at", "timestamp with time zone"}};
  const auto fitting = must(fit(shape, facts));
  EXPECT_EQ(fitting.columns.attempts, "");
  EXPECT_EQ(statements_of(fitting, facts).failed, "") << "attempts are kept elsewhere";
  must(set_column(shape, "key", "customer"));
  const auto refused = fit(shape, facts);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().detail, HasSubstr("no column customer"));
}

TEST(Shapes, RowsThatWereSentAreDeletedWhereATableHasNoPlaceToSaySo) {
  for (const char* name : {"debezium", "masstransit", "wolverine"}) {
    const Shape shape = must(find_shape(name));
    const auto statements = statements_of(shape, facts_of(shape));
    EXPECT_THAT(statements.done, HasSubstr("DELETE FROM")) << name;
    EXPECT_THAT(statements.dead, HasSubstr("DELETE FROM")) << name;
  }
  const Shape cap = must(find_shape("cap"));
  const auto statements = statements_of(cap, facts_of(cap));
  EXPECT_THAT(statements.done, HasSubstr("\"StatusName\" = E'Succeeded'"));
  EXPECT_THAT(statements.dead, HasSubstr("\"StatusName\" = E'Failed'"));
  EXPECT_THAT(statements.read, HasSubstr("t.\"StatusName\"::text IN (E'Scheduled', E'Delayed')"));
}

TEST(RowHeaders, AreTheMembersOfAJsonObject) {
  const Headers headers =
      headers_of(R"({"tenant":"acme","n":7,"deep":{"a":1},"flag":true,"no":null})");
  ASSERT_EQ(headers.size(), 5U);
  EXPECT_EQ(headers[0], (Header{"tenant", "acme", HeaderType::text}));
  EXPECT_EQ(headers[1], (Header{"n", "7", HeaderType::integer}));
  EXPECT_EQ(headers[2], (Header{"deep", R"({"a":1})", HeaderType::text}));
  EXPECT_EQ(headers[3], (Header{"flag", "true", HeaderType::boolean}));
  EXPECT_EQ(headers[4], (Header{"no", "", HeaderType::null}));
  EXPECT_EQ(headers_of("[1"), (Headers{{"outbox-headers", "[1", HeaderType::text}}));
  EXPECT_TRUE(headers_of("").empty());
}

TEST(Targets, TakeWhatTheRowSaysWithSlashesEscaped) {
  Row row;
  auto message = std::make_shared<Message>();
  message->event_type = "a/b%";
  row.message = message;
  row.key = "k";
  row.destination = "d";
  EXPECT_EQ(target_of("amqp:x/{type}.{key}.{destination}.{other}", row),
            "amqp:x/a%2Fb%25.k.d.{other}");
}

TEST(Sources, AreNamedAfterTheEventType) {  // S1-3
  EXPECT_EQ(source_of("PaymentFailed", "shop"), "outbox_PaymentFailed");
  EXPECT_EQ(source_of("", "shop"), "outbox_shop");
}

}  // namespace
}  // namespace dlo::outbox
