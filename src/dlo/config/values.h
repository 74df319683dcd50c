#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/config/keys.h"
#include "dlo/core/result.h"

namespace dlo {

/// A value that fits its setting.
struct ConfigValue {
  std::string text;          // in the form people are shown
  std::uint64_t number = 0;  // of counts, bytes and milliseconds; 1 for true
  bool operator==(const ConfigValue&) const = default;
};

/// Reads what somebody wrote for `key`; refused with what was written (unless it is secret), what
/// is allowed and the nearest spelling. `unit` belongs to a number without one.
[[nodiscard]] Result<ConfigValue> read_value(const ConfigKey& key, std::string_view text,
                                             std::string_view unit = {});

/// The shortest exact form: 90s, 8MB, 16.
[[nodiscard]] std::string print_number(ValueKind kind, std::uint64_t number);

/// What stands between the commas, without the blanks around it.
[[nodiscard]] std::vector<std::string> split_places(std::string_view text);

struct ListenAddress {
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 0;
};
/// HOST:PORT or [HOST]:PORT.
[[nodiscard]] Result<ListenAddress> parse_address(std::string_view text);

}  // namespace dlo
