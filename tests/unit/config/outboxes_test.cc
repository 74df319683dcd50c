// Outbox tables that are sent: `outboxes`.
#include <gtest/gtest.h>
#include <string>

#include "unit/config/reading_text.h"

#include "dlo/config/config.h"

namespace dlo {
namespace {

const std::string server = "rabbitmq: {address: 'amqp://dlo:hunter2@mq.example/shop'}\n";

ConfigReading reading(const std::string& file) {
  return read_config({file, {}, {}});
}

TEST(Outboxes, AreReadWithWhatIsUsualForTheRest) {
  const auto read =
      reading(server +
              "outboxes:\n  shop: {postgres: 'service=shop', to: 'amqp:x/{type}'}\n"
              "  own: {shape: cap, table: a.b, columns: {key: k, trail: none}, to: q, "
              "profile: standard, batch: 7, poll: 2s}\n");
  EXPECT_EQ(problems_of(read), "");
  ASSERT_EQ(read.config.outboxes.size(), 2U);
  OutboxSettings shop;
  shop.name = "shop";
  shop.address = "service=shop";
  shop.to = "amqp:x/{type}";
  EXPECT_EQ(read.config.outboxes[0], shop);
  EXPECT_EQ(shop.profile, "booking-outbox+safe");
  OutboxSettings own;
  own.name = "own";
  own.shape = "cap";
  own.table = "a.b";
  own.columns = {{"key", "k"}, {"trail", "none"}};
  own.to = "q";
  own.profile = "standard";
  own.batch = 7;
  own.poll = Millis{2'000};
  EXPECT_EQ(read.config.outboxes[1], own);
}

TEST(Outboxes, AddressesAreShownToNobody) {
  const auto read = reading("outboxes: {a: {postgres: 'postgresql://u:hunter2@h/d', to: q}}\n");
  EXPECT_EQ(problems_of(read), "");
  std::string shown;
  for (const auto& setting : show_config(read.config, "dlo.yaml", true)) {
    shown += setting.path + "=" + setting.value + "\n";
  }
  EXPECT_EQ(shown.find("hunter2"), std::string::npos);
  EXPECT_NE(shown.find("outboxes.a=sends table of shape own, to \"q\""), std::string::npos)
      << shown;
}

TEST(Outboxes, WhatIsWrongIsSaidWithItsLine) {
  const auto wrong = [](const std::string& file) { return problems_of(reading(file)); };
  EXPECT_NE(wrong("outboxes: {a: {tow: q}}\n").find("did you mean \"to\""), std::string::npos);
  EXPECT_NE(wrong("outboxes: {a: {table: t}}\n").find("must say where its rows go"),
            std::string::npos);
  EXPECT_NE(wrong("outboxes: {a: {to: 'amqp:q'}}\n").find("rabbitmq.address"), std::string::npos);
  EXPECT_NE(wrong("outboxes: {a: {to: q, profile: bokking}}\n").find("outboxes.a.profile"),
            std::string::npos);
  EXPECT_NE(wrong("outboxes: {a: {to: q, batch: 0}}\n").find("outboxes.a.batch"),
            std::string::npos);
  EXPECT_NE(wrong("outboxes: {a: {to: q, columns: k}}\n").find("columns by role"),
            std::string::npos);
  EXPECT_NE(wrong("outboxes: {a: {to: q}, b: {to: r}}\n").find("is the table of outboxes.a"),
            std::string::npos);
  EXPECT_NE(wrong("outboxes: [a]\n").find("holds settings by name"), std::string::npos);
}

TEST(Outboxes, ChangesNeedARestart) {
  const auto before = reading("outboxes: {a: {to: q}}\n");
  const auto after = reading("outboxes: {a: {to: r}}\n");
  EXPECT_EQ(needs_restart(before.config, after.config), std::vector<std::string>{"outboxes"});
}

}  // namespace
}  // namespace dlo
