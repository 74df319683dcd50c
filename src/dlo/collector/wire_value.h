#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlo::collector {

struct WireEntry;

/// A value of an AMQP 0-9-1 field table, as RabbitMQ writes them.
struct WireValue {
  enum class Kind : std::uint8_t { text, number, moment, table, list, other };
  Kind kind = Kind::other;
  std::string text;            // text
  std::int64_t number = 0;     // number; moment: seconds since 1970
  std::vector<WireEntry> map;  // table
  std::vector<WireValue> list;

  /// The first entry of that name, or null.
  [[nodiscard]] const WireValue* find(std::string_view name) const noexcept;
};

struct WireEntry {
  std::string name;
  WireValue value;
};

/// Reads what a header of type `structured` holds: the kind, then the value. Nothing for whatever
/// is not exactly one value, is nested deeper than 16 or has more than 10 000 parts: nobody who
/// means well writes that, and others are not to cost anything.
[[nodiscard]] std::optional<WireValue> read_wire_value(std::string_view bytes);

}  // namespace dlo::collector
