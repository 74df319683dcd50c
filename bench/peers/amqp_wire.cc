#include "peers/amqp_wire.h"

#include <utility>

#include "peers/support/failure.h"

namespace dlo::peers::amqp {
namespace {

constexpr auto end_of_frame = '\xCE';
constexpr unsigned our_channel = 1;
constexpr std::size_t frame_header = 7;

void append_frame(std::string& out, Frame::Type type, unsigned channel, std::string_view contents) {
  Writer header;
  header.u8(static_cast<unsigned>(type))
      .u16(channel)
      .u32(static_cast<std::uint32_t>(contents.size()));
  out.append(header.bytes()).append(contents).append(1, end_of_frame);
}

void append_method(std::string& out, unsigned channel, Method method, const Writer& arguments) {
  Writer name;
  name.u32(static_cast<std::uint32_t>(method));
  append_frame(out, Frame::Type::method, channel, name.bytes() + arguments.bytes());
}

/// Answers one step of the handshake; true once the channel is as it was wanted.
bool shake_hands(Connection& connection, const Frame& frame, bool confirms) {
  constexpr std::uint32_t largest_frame = 131072;
  std::string& out = connection.out;
  if (frame.is(Method::connection_start)) {
    append_method(out, 0, Method::connection_start_ok,
                  Writer{}
                      .u32(0)  // no properties
                      .short_text("PLAIN")
                      .long_text(std::string_view{"\0guest\0guest", 12})
                      .short_text("en_US"));
  } else if (frame.is(Method::connection_tune)) {
    append_method(out, 0, Method::connection_tune_ok,
                  Writer{}.u16(our_channel).u32(largest_frame).u16(0));
    append_method(out, 0, Method::connection_open, Writer{}.short_text("/").short_text("").u8(0));
  } else if (frame.is(Method::connection_open_ok)) {
    append_method(out, our_channel, Method::channel_open, Writer{}.short_text(""));
  } else if (frame.is(Method::channel_open_ok) && confirms) {
    append_method(out, our_channel, Method::confirm_select, Writer{}.u8(0));
  } else {
    return frame.is(Method::channel_open_ok) || frame.is(Method::confirm_select_ok);
  }
  return false;
}

}  // namespace

Writer& Writer::u8(unsigned value) {
  bytes_ += static_cast<char>(value);
  return *this;
}
Writer& Writer::u16(unsigned value) {
  return u8(value >> 8U).u8(value);
}
Writer& Writer::u32(std::uint32_t value) {
  return u16(value >> 16U).u16(value);
}
Writer& Writer::u64(std::uint64_t value) {
  return u32(static_cast<std::uint32_t>(value >> 32U)).u32(static_cast<std::uint32_t>(value));
}
Writer& Writer::short_text(std::string_view text) {
  u8(static_cast<unsigned>(text.size()));
  bytes_ += text;
  return *this;
}
Writer& Writer::long_text(std::string_view text) {
  u32(static_cast<std::uint32_t>(text.size()));
  bytes_ += text;
  return *this;
}
Writer& Writer::entry(std::string_view name, std::string_view text) {
  return short_text(name).u8('S').long_text(text);
}
Writer& Writer::entry(std::string_view name, std::int32_t number) {
  return short_text(name).u8('I').u32(static_cast<std::uint32_t>(number));
}

void call(std::string& out, Method method, const Writer& arguments) {
  append_method(out, our_channel, method, arguments);
}

void publish(std::string& out, std::string_view queue, std::string_view body) {
  constexpr unsigned has_delivery_mode = 0x1000;
  constexpr unsigned persistent = 2;
  call(out, Method::basic_publish, Writer{}.u16(0).short_text("").short_text(queue).u8(0));
  Writer header;
  header.u16(60).u16(0).u64(body.size()).u16(has_delivery_mode).u8(persistent);
  append_frame(out, Frame::Type::header, our_channel, header.bytes());
  append_frame(out, Frame::Type::body, our_channel, body);
}

std::uint64_t number(std::string_view bytes, std::size_t size) {
  std::uint64_t value = 0;
  for (const char byte : bytes.substr(0, size)) {
    value = value << 8U | static_cast<unsigned char>(byte);
  }
  return value;
}

Frame read(std::string_view bytes) {
  if (bytes.size() < frame_header) return {};
  const auto size = static_cast<std::size_t>(number(bytes.substr(3), 4));
  if (bytes.size() < frame_header + size + 1) return {};
  Frame frame{.bytes = frame_header + size + 1,
              .type = static_cast<Frame::Type>(bytes.front()),
              .contents = bytes.substr(frame_header, size)};
  if (frame.type != Frame::Type::method) return frame;
  frame.method = static_cast<Method>(number(frame.contents, 4));
  frame.contents.remove_prefix(4);
  if (frame.method == Method::channel_close || frame.method == Method::connection_close) {
    fail("rabbitmq says: " + std::string{frame.contents.substr(3)});
  }
  return frame;
}

std::vector<Connection> open(int port, int count, bool confirms) {
  auto connections = connect(port, count);
  for (auto& connection : connections) {
    connection.out += std::string_view{"AMQP\x00\x00\x09\x01", 8};
  }
  int ready = 0;
  drive(
      connections, [](Connection&) {},
      [&](Connection& connection, std::string_view bytes) {
        const Frame frame = read(bytes);
        if (frame.bytes > 0 && shake_hands(connection, frame, confirms)) ++ready;
        return frame.bytes;
      },
      [&] { return ready == count; });
  return connections;
}

std::string ask(std::vector<Connection>& connection, Method method, const Writer& arguments,
                Method answer) {
  call(connection.front().out, method, arguments);
  std::string contents;
  bool answered = false;
  drive(
      connection, [](Connection&) {},
      [&](Connection&, std::string_view bytes) {
        const Frame frame = read(bytes);
        if (frame.is(answer)) {
          answered = true;
          contents = frame.contents;
        }
        return frame.bytes;
      },
      [&] { return answered; });
  return contents;
}

}  // namespace dlo::peers::amqp
