#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "dlo/core/message.h"

/// Field tables as a server writes them, for tests.
namespace dlo::testing::wire {

inline std::string big_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8U * static_cast<unsigned>(i))));
  }
  return out;
}
inline std::string text(const std::string& value) {
  return "S" + big_endian(value.size(), 4) + value;
}
inline std::string number(std::int64_t value) {
  return "l" + big_endian(static_cast<std::uint64_t>(value), 8);
}
inline std::string moment(std::uint64_t seconds) {
  return "T" + big_endian(seconds, 8);
}
inline std::string table(std::initializer_list<std::pair<std::string, std::string>> entries) {
  std::string inside;
  for (const auto& [name, value] : entries) inside += big_endian(name.size(), 1) + name + value;
  return "F" + big_endian(inside.size(), 4) + inside;
}
inline std::string list(std::initializer_list<std::string> items) {
  std::string inside;
  for (const auto& each : items) inside += each;
  return "A" + big_endian(inside.size(), 4) + inside;
}

/// An entry of `x-death` as RabbitMQ 3.10 writes it.
inline std::string death(const std::string& queue, const std::string& reason, std::int64_t count,
                         std::uint64_t at, const std::string& exchange = "shop",
                         const std::string& key = "order.placed") {
  return table({{"count", number(count)},
                {"reason", text(reason)},
                {"queue", text(queue)},
                {"time", moment(at)},
                {"exchange", text(exchange)},
                {"routing-keys", list({text(key)})}});
}
inline Header x_death(std::initializer_list<std::string> deaths) {
  return {"x-death", list(deaths), HeaderType::structured};
}

}  // namespace dlo::testing::wire
