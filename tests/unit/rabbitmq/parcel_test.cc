// Messages to AMQP's properties and back, without a server.
#include "dlo/broker/rabbitmq/parcel.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <vector>

#include "support/must.h"

#include "dlo/broker/rabbitmq/deep_thread.h"
#include "dlo/broker/rabbitmq/parcel_names.h"
#include "dlo/broker/rabbitmq/table.h"

namespace dlo::rabbitmq {
namespace {

using testing::must;

Parcel opened(const amqp_basic_properties_t& properties) {
  Parcel parcel;
  open_parcel(properties, parcel);
  return parcel;
}

/// As if it had gone over the wire: encoded, decoded, body added.
Parcel carry(const Message& message, const Carried& carried = {}) {
  Outgoing outgoing(message, carried);
  auto properties = outgoing.properties();
  Parcel parcel = opened(properties);
  seal(parcel, std::string(view(outgoing.body())));
  return parcel;
}

amqp_field_value_t value_of(char kind) {
  amqp_field_value_t value{};
  value.kind = static_cast<std::uint8_t>(kind);
  return value;
}

/// One value, to a header and back, as bytes on the wire.
void expect_unchanged(const amqp_field_value_t& value) {
  amqp_table_entry_t entry{amqp_cstring_bytes("h"), value};
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_HEADERS_FLAG;
  properties.headers = {1, &entry};
  Parcel parcel = opened(properties);
  seal(parcel, "body");
  const Carried nothing;
  Outgoing back(parcel.message, nothing);
  const auto encoded = [](amqp_table_t table) {
    std::string bytes(4096, '\0');
    std::size_t used = 0;
    EXPECT_EQ(amqp_encode_table(bytes_of(bytes), &table, &used), AMQP_STATUS_OK);
    return bytes.substr(0, used);
  };
  EXPECT_EQ(encoded(back.properties().headers), encoded(properties.headers))
      << "kind " << value.kind;
}

TEST(RabbitParcel, EveryNumberKeepsItsWidthAndValue) {
  for (const auto number :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0},
        std::int64_t{1}, std::int64_t{200}, std::numeric_limits<std::int64_t>::max()}) {
    for (const char kind : std::string("bBsuIilT")) {
      auto value = value_of(kind);
      value.value.i64 = number;
      expect_unchanged(value);
    }
  }
  for (const double number : {0.0, -0.0, 0.1, 1e300, std::nan(""), HUGE_VAL}) {
    auto wide = value_of('d');
    wide.value.f64 = number;
    expect_unchanged(wide);
    auto narrow = value_of('f');
    narrow.value.f32 = static_cast<float>(number);
    expect_unchanged(narrow);
  }
}

TEST(RabbitParcel, EveryOtherKindIsKept) {
  for (const char kind : std::string("SxVtFAD")) expect_unchanged(value_of(kind));
  auto text = value_of('S');
  text.value.bytes = bytes_of(std::string_view("\0\xff\n", 3));
  expect_unchanged(text);
  text.kind = 'x';
  expect_unchanged(text);
  auto truth = value_of('t');
  truth.value.boolean = 1;
  expect_unchanged(truth);
  auto decimal = value_of('D');
  decimal.value.decimal = {2, 12345};
  expect_unchanged(decimal);
}

TEST(RabbitParcel, TablesInArraysInTablesAreKept) {
  auto deep = value_of('S');
  deep.value.bytes = bytes_of("at the bottom");
  std::vector<std::unique_ptr<amqp_field_value_t>> levels;
  std::vector<std::unique_ptr<amqp_table_entry_t>> entries;
  for (int level = 0; level < 50; ++level) {
    if (level % 2 == 0) {
      levels.push_back(std::make_unique<amqp_field_value_t>(deep));
      deep = value_of('A');
      deep.value.array = {1, levels.back().get()};
    } else {
      entries.push_back(std::make_unique<amqp_table_entry_t>(
          amqp_table_entry_t{amqp_cstring_bytes("down"), deep}));
      deep = value_of('F');
      deep.value.table = {1, entries.back().get()};
    }
  }
  expect_unchanged(deep);
}

TEST(RabbitParcel, TablesAreReadHoweverDeepAFrameNestsThem) {  // hostile headers
  constexpr std::size_t levels = 200'000;
  std::string raw(1, '\0');  // a table of one entry without a name
  for (std::size_t i = 0; i < levels; ++i) {
    const std::size_t inside = 5 * (levels - 1 - i);
    raw += 'A';
    for (const unsigned shift : {24U, 16U, 8U, 0U}) raw += static_cast<char>(inside >> shift);
  }
  std::string sized;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) sized += static_cast<char>(raw.size() >> shift);
  sized += raw;
  Header header;
  DeepThread thread;
  thread.start([&](const std::stop_token&) {
    Pool pool;
    amqp_table_t table{};
    std::size_t used = 0;
    if (amqp_decode_table(bytes_of(sized), pool.get(), &table, &used) != AMQP_STATUS_OK) return;
    header = header_of("deep", table.entries[0].value);
  });
  thread.join();
  EXPECT_EQ(header.value.size(), 5 * levels);
  Table out;  // on a thread that has not so much room
  out.add(header);
  EXPECT_EQ(out.get().entries[0].value.kind, AMQP_FIELD_KIND_BYTES) << "sent, and read by nobody";
}

TEST(RabbitParcel, WhatANumberCannotBeIsSentAsText) {
  Message message;
  message.headers = {{"big", "99999999999999999999", HeaderType::integer},
                     {"none", "", HeaderType::integer},
                     {"odd", "1,5", HeaderType::real},
                     {"when", "soon", HeaderType::timestamp},
                     {"foreign", "\x01\x02", HeaderType::structured}};
  const auto back = carry(message).message.headers;
  ASSERT_EQ(back.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(back[i].value, message.headers[i].value);
    EXPECT_EQ(back[i].type, HeaderType::text);
  }
  EXPECT_EQ(back[4], (Header{"foreign", "\x01\x02", HeaderType::bytes}));
}

TEST(RabbitParcel, AnEditedNumberThatNoLongerFitsGetsAWiderKind) {
  Message message;
  message.payload = "body";
  message.headers = {{"retries", "70000", HeaderType::integer},
                     {std::string(kinds_header), "s7:retries", HeaderType::text}};
  const Carried nothing;
  Outgoing outgoing(message, nothing);
  const auto table = outgoing.properties().headers;
  ASSERT_EQ(table.num_entries, 1);
  EXPECT_EQ(table.entries[0].value.kind, AMQP_FIELD_KIND_I64);
  EXPECT_EQ(table.entries[0].value.value.i64, 70'000);
}

TEST(RabbitParcel, BrokenKindsHarmNobody) {
  for (const char* kinds :
       {"", "I", "I7", "I7:", "I99:retries", "I-1:x", "7:retries", "I7:retries?"}) {
    Message message;
    message.headers = {{"retries", "3", HeaderType::integer},
                       {std::string(kinds_header), kinds, HeaderType::text}};
    EXPECT_EQ(carry(message).message.headers.front().value, "3") << kinds;
  }
}

TEST(RabbitParcel, APlainMessageGetsNothingAdded) {
  Message message;
  message.id = "m-1";
  message.payload = "body";
  message.headers = {{"tenant", "acme", HeaderType::text}};
  const Carried nothing;
  Outgoing outgoing(message, nothing);
  EXPECT_EQ(outgoing.properties().headers.num_entries, 1);
}

TEST(RabbitParcel, WhatIsCarriedComesBack) {
  Message message;
  message.id = "m-1";
  message.payload = "body";
  Carried carried;
  carried.counters = {.fetch = 3, .attempt = 2, .failure = 2, .abandon = 1, .retry = 1, .total = 9};
  carried.due = testing::noon;
  carried.first_attempt_at = testing::noon - Millis{7};
  carried.previous_delay = Millis{1234};
  carried.last_error = "no luck";
  carried.trail = std::string("\0\xff", 2);
  const auto back = carry(message, carried);
  EXPECT_EQ(back.carried, carried);
  EXPECT_TRUE(back.message.headers.empty());
}

TEST(RabbitParcel, WhatWasCarriedForAnotherMessageIsForgotten) {
  Message message;
  message.id = "m-1";
  message.key = "k";
  message.payload = "body";
  Carried carried;
  carried.counters.attempt = 4;
  Outgoing outgoing(message, carried);
  auto copied = outgoing.properties();
  copied.message_id = bytes_of("m-2");  // made out of the first, with its headers
  Parcel parcel = opened(copied);
  seal(parcel, "another body");
  EXPECT_EQ(parcel.carried, Carried{});
  EXPECT_EQ(parcel.message.key, "");
  EXPECT_EQ(parcel.message.payload, "another body");
}

TEST(RabbitParcel, AnAttemptHeaderAloneIsBelieved) {  // R6, RMQ-21
  auto attempts = value_of('I');
  attempts.value.i32 = 3;
  auto returns = value_of('l');
  returns.value.i64 = 5;
  std::array<amqp_table_entry_t, 2> entries = {
      amqp_table_entry_t{amqp_cstring_bytes("dlo-attempts"), attempts},
      amqp_table_entry_t{amqp_cstring_bytes("x-delivery-count"), returns}};
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_HEADERS_FLAG;
  properties.headers = {2, entries.data()};
  const auto parcel = opened(properties);
  EXPECT_EQ(parcel.carried.counters.attempt, 3U);
  EXPECT_EQ(parcel.returns, 5U);
  EXPECT_TRUE(parcel.message.headers.empty());
}

TEST(RabbitParcel, HeadersOfWrongTypesAreNoCounts) {  // RMQ-03
  auto text = value_of('S');
  text.value.bytes = bytes_of("many");
  std::array<amqp_table_entry_t, 4> entries = {
      amqp_table_entry_t{amqp_cstring_bytes("dlo-attempts"), text},
      amqp_table_entry_t{amqp_cstring_bytes("x-delivery-count"), text},
      amqp_table_entry_t{amqp_cstring_bytes("dlo-carried"), text},
      amqp_table_entry_t{amqp_cstring_bytes("x-death"), text}};
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_HEADERS_FLAG;
  properties.headers = {4, entries.data()};
  auto parcel = opened(properties);
  seal(parcel, "body");
  EXPECT_EQ(parcel.carried, Carried{});
  EXPECT_EQ(parcel.returns, 0U);
}

TEST(RabbitParcel, AHeaderThatCannotBeSentIsRefusedBeforeItIs) {  // RMQ-11
  Message message;
  const Carried nothing;
  message.headers = {{std::string(256, 'n'), "v", HeaderType::text}};
  EXPECT_FALSE(Outgoing(message, nothing).fits(131'072));
  message.headers = {{"n", std::string(140'000, 'v'), HeaderType::text}};
  const auto refused = Outgoing(message, nothing).fits(131'072);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("frame_max"), std::string::npos);
  EXPECT_TRUE(Outgoing(message, nothing).fits(262'144));
}

TEST(RabbitParcel, PrioritiesAreKept) {
  for (const int priority : {0, 1, 3, 4, 5, 9, 10, 255}) {
    const auto number = static_cast<std::uint8_t>(priority);
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_PRIORITY_FLAG;
    properties.priority = number;
    const auto parcel = opened(properties);
    const Carried nothing;
    Outgoing back(parcel.message, nothing);
    EXPECT_EQ(back.properties().priority, number);
  }
}

}  // namespace
}  // namespace dlo::rabbitmq
