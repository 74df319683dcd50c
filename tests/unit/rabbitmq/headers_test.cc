// Somebody else's message, through our hands and back, is what it was.
#include "unit/rabbitmq/support.h"

#include "dlo/broker/rabbitmq/table.h"

namespace dlo::testing {
namespace {

using rabbitmq::view;

amqp_field_value_t value_of(char kind) {
  amqp_field_value_t value{};
  value.kind = static_cast<std::uint8_t>(kind);
  return value;
}

/// Every kind of value that the server takes, nested ones too.
class ForeignMessage {
 public:
  ForeignMessage() {
    for (const char kind : std::string("bBsuIilTt")) {
      auto value = value_of(kind);
      value.value.i64 = 1;
      add("number", value);
    }
    auto real = value_of('d');
    real.value.f64 = 0.1;
    add("double", real);
    real = value_of('f');
    real.value.f32 = 0.1F;
    add("float", real);
    auto decimal = value_of('D');
    decimal.value.decimal = {3, 1999};
    add("price", decimal);
    auto text = value_of('S');
    text.value.bytes = RabbitClient::bytes(text_);
    add("text", text);
    text.kind = 'x';
    add("bytes", text);
    add("nothing", value_of('V'));
    add("nothing", value_of('V'));  // twice
    inner_ = {amqp_cstring_bytes("inner"), entries_[4].value};
    auto table = value_of('F');
    table.value.table = {1, &inner_};
    element_ = table;
    add("table", table);
    auto array = value_of('A');
    array.value.array = {1, &element_};
    add("array", array);

    auto& to = properties_;
    to.headers = {static_cast<int>(entries_.size()), entries_.data()};
    to.content_type = amqp_cstring_bytes("application/json");
    to.content_encoding = amqp_cstring_bytes("gzip");
    to.delivery_mode = 2;
    to.priority = 3;
    to.correlation_id = amqp_cstring_bytes("c-1");
    to.reply_to = amqp_cstring_bytes("answers");
    to.expiration = amqp_cstring_bytes("3600000");
    to.message_id = amqp_cstring_bytes("m-1");
    to.timestamp = 1'772'366'400;
    to.type = amqp_cstring_bytes("OrderPlaced");
    to.app_id = amqp_cstring_bytes("shop");
    to._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_CONTENT_TYPE_FLAG |
                AMQP_BASIC_CONTENT_ENCODING_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                AMQP_BASIC_PRIORITY_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG |
                AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_EXPIRATION_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_APP_ID_FLAG;
  }
  [[nodiscard]] const amqp_basic_properties_t& properties() const { return properties_; }

 private:
  void add(const char* name, amqp_field_value_t value) {
    entries_.push_back({amqp_cstring_bytes(name), value});
  }
  std::string text_{"\0\xff\nno utf-8", 11};
  std::vector<amqp_table_entry_t> entries_;
  amqp_table_entry_t inner_{};
  amqp_field_value_t element_{};
  amqp_basic_properties_t properties_{};
};

/// Properties as the wire has them, without what we add ourselves.
std::string on_the_wire(amqp_basic_properties_t properties) {
  std::vector<amqp_table_entry_t> theirs;
  for (int i = 0; i < properties.headers.num_entries; ++i) {
    const auto& entry = properties.headers.entries[i];
    if (!view(entry.key).starts_with("dlo-")) theirs.push_back(entry);
  }
  properties.headers = {static_cast<int>(theirs.size()), theirs.data()};
  std::string bytes(65'536, '\0');
  const int used =
      amqp_encode_properties(AMQP_BASIC_CLASS, &properties, RabbitClient::bytes(bytes));
  EXPECT_GT(used, 0);
  return std::to_string(properties._flags) + bytes.substr(0, static_cast<std::size_t>(used));
}

class RabbitHeadersTest : public RabbitTest {
 protected:
  void publish_foreign() { RabbitClient().publish(queue(), foreign_.properties(), body_); }
  void expect_foreign_again() {
    RabbitClient client;
    amqp_envelope_t envelope{};
    client.consume(queue(), &envelope);
    EXPECT_EQ(on_the_wire(envelope.message.properties), on_the_wire(foreign_.properties()));
    EXPECT_EQ(view(envelope.message.body), body_);
    amqp_destroy_envelope(&envelope);
  }

  ForeignMessage foreign_;
  std::string body_{"\0\x01{binary\xff", 10};
};

TEST_F(RabbitHeadersTest, AFailedMessageIsSentAgainAsItCame) {  // RMQ-15
  auto broker = open(options());
  must(broker->stats(noon));  // the queue is there
  publish_foreign();
  const auto got = take_one(*broker);
  EXPECT_EQ(got.message->id, "m-1");
  EXPECT_EQ(got.message->event_type, "OrderPlaced");
  EXPECT_EQ(got.message->enqueued_at, noon);
  EXPECT_EQ(got.message->priority, Priority::low);
  EXPECT_EQ(settle(*broker, got.lease, failed(got, noon)), Settled::done);
  broker.reset();
  expect_foreign_again();
}

TEST_F(RabbitHeadersTest, ADeadMessageIsReplayedAsItCame) {  // RMQ-15
  auto broker = open(options());
  must(broker->stats(noon));
  publish_foreign();
  const auto dead = take_one(*broker);
  EXPECT_EQ(settle(*broker, dead.lease, DeadLettered{}), Settled::done);
  broker.reset();
  RabbitPublisher publisher(options().server);
  const RabbitPost post{"", queue(), dead.message};
  EXPECT_FALSE(must(publisher.send({&post, 1})).at(0));
  expect_foreign_again();
}

TEST_F(RabbitHeadersTest, TablesNestedWithoutEndAreBytesLikeOthers) {
  auto broker = open(options());
  must(broker->stats(noon));
  constexpr int levels = 3'000;
  std::vector<amqp_field_value_t> nested(levels, value_of('A'));
  for (std::size_t i = 0; i + 1 < nested.size(); ++i) nested[i].value.array = {1, &nested[i + 1]};
  amqp_table_entry_t entry{amqp_cstring_bytes("deep"), nested.front()};
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_HEADERS_FLAG;
  properties.headers = {1, &entry};
  RabbitClient().publish(queue(), properties, "body");
  auto got = take_one(*broker);
  ASSERT_EQ(got.message->headers.size(), 1U);
  const auto header = got.message->headers.front();
  EXPECT_EQ(header.type, HeaderType::structured);
  settle(*broker, got.lease, failed(got, noon));
  EXPECT_EQ(take_one(*broker).message->headers.front(), header);
}

}  // namespace
}  // namespace dlo::testing
