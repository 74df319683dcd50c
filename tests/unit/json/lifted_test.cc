#include "dlo/json/lifted.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/must.h"

namespace dlo {
namespace {

using dlo::testing::must;

std::string json_of(const std::vector<LiftedColumn>& columns, const Message& message) {
  JsonWriter json;
  json.begin_object();
  const auto values = lift(columns, message);
  for (std::size_t i = 0; i < columns.size(); ++i) values[i].write(json, columns[i].title);
  json.end_object();
  return json.take();
}

TEST(LiftedColumns, TakeFieldsOutOfPayloadsAndHeaders) {  // S1-37
  const auto columns = must(parse_columns({"payment_id=body.PaymentId", "amount=body.Amount",
                                           "body.Items.1", "all=body.Items", "tenant=header.Tenant",
                                           "none=body.Nothing.here", "gone=header.x"}));
  Message message;
  message.payload =
      R"({"PaymentId": "p-\u0037", "Amount": 12345678901234567890.10, "Items": [1, {"a" : 2}]})";
  message.headers = {{"tenant", "first"}, {"TENANT", "acme"}};
  std::vector<std::string> cells;
  for (const LiftedValue& value : lift(columns, message)) cells.push_back(value.cell());
  EXPECT_EQ(cells, (std::vector<std::string>{"p-7", "12345678901234567890.10", R"({"a" : 2})",
                                             R"([1, {"a" : 2}])", "acme", "", ""}));
  EXPECT_EQ(json_of(columns, message),
            R"({"payment_id":"p-\u0037","amount":12345678901234567890.10,"body.Items.1":{"a":2},)"
            R"("all":[1,{"a":2}],"tenant":"acme","none":null,"gone":null})");
}

TEST(LiftedColumns, AreEmptyWhereThePayloadIsNoJson) {
  const auto columns = must(parse_columns({"x=body.x"}));
  for (const char* payload : {"", "plain text", "{\"x\": 1", "[]", "7"}) {
    Message message;
    message.payload = payload;
    EXPECT_EQ(json_of(columns, message), R"({"x":null})") << payload;
  }
  EXPECT_EQ(json_of(columns, Message{}), R"({"x":null})");
}

TEST(LiftedColumns, AreRefusedWithTheWayToWriteThem) {
  const std::vector<std::vector<std::string>> bad = {{"x"},
                                                     {"x=status"},
                                                     {"=body.x"},
                                                     {"x=body."},
                                                     {"x=body.a..b"},
                                                     {"x=header."},
                                                     {"x=body.a", "x=body.b"}};
  for (const auto& texts : bad) {
    const auto refused = parse_columns(texts);
    ASSERT_FALSE(refused) << texts.front();
    EXPECT_NE(refused.error().detail.find("payment_id=body.PaymentId"), std::string::npos);
  }
}

}  // namespace
}  // namespace dlo
