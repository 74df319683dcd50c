#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "peers/support/connection.h"

namespace dlo::peers::amqp {

/// Class and method of AMQP 0-9-1, as one number.
enum class Method : std::uint32_t {
  connection_start = 10 << 16 | 10,
  connection_start_ok = 10 << 16 | 11,
  connection_tune = 10 << 16 | 30,
  connection_tune_ok = 10 << 16 | 31,
  connection_open = 10 << 16 | 40,
  connection_open_ok = 10 << 16 | 41,
  connection_close = 10 << 16 | 50,
  channel_open = 20 << 16 | 10,
  channel_open_ok = 20 << 16 | 11,
  channel_close = 20 << 16 | 40,
  exchange_declare = 40 << 16 | 10,
  exchange_declare_ok = 40 << 16 | 11,
  queue_declare = 50 << 16 | 10,
  queue_declare_ok = 50 << 16 | 11,
  queue_bind = 50 << 16 | 20,
  queue_bind_ok = 50 << 16 | 21,
  queue_delete = 50 << 16 | 40,
  queue_delete_ok = 50 << 16 | 41,
  basic_qos = 60 << 16 | 10,
  basic_consume = 60 << 16 | 20,
  basic_publish = 60 << 16 | 40,
  basic_deliver = 60 << 16 | 60,
  basic_ack = 60 << 16 | 80,
  basic_nack = 60 << 16 | 120,
  confirm_select = 85 << 16 | 10,
  confirm_select_ok = 85 << 16 | 11,
};

/// Builds the arguments of a method or a table.
class Writer {
 public:
  Writer& u8(unsigned value);
  Writer& u16(unsigned value);
  Writer& u32(std::uint32_t value);
  Writer& u64(std::uint64_t value);
  Writer& short_text(std::string_view text);
  Writer& long_text(std::string_view text);
  /// Entries of a table.
  Writer& entry(std::string_view name, std::string_view text);
  Writer& entry(std::string_view name, std::int32_t number);

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

/// Appends a method to `out`, on the one channel that is used.
void call(std::string& out, Method method, const Writer& arguments);
/// Appends a persistent message for `queue`.
void publish(std::string& out, std::string_view queue, std::string_view body);

/// A frame the server sent.
struct Frame {
  enum class Type : std::uint8_t { method = 1, header = 2, body = 3, heartbeat = 8 };
  std::size_t bytes = 0;  // 0: not whole yet
  Type type = Type::heartbeat;
  Method method{};            // if it is one
  std::string_view contents;  // arguments or body

  [[nodiscard]] bool is(Method which) const noexcept {
    return type == Type::method && method == which;
  }
};
/// Reads one; a refusal by the server ends the program.
[[nodiscard]] Frame read(std::string_view bytes);

/// A big-endian number at the front of `bytes`.
[[nodiscard]] std::uint64_t number(std::string_view bytes, std::size_t size);

/// So many connections with an open channel; with `confirms` the server acknowledges publishes.
[[nodiscard]] std::vector<Connection> open(int port, int count, bool confirms);

/// Sends a method on a connection with nothing else under way, waits for its answer; the arguments.
std::string ask(std::vector<Connection>& connection, Method method, const Writer& arguments,
                Method answer);

}  // namespace dlo::peers::amqp
