#include "dlo/core/id.h"

namespace dlo {
namespace {

void print_half(std::uint64_t half, char* out) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  for (int i = 15; i >= 0; --i) {
    out[i] = digits[half & 0xF];
    half >>= 4U;
  }
}

std::optional<std::uint64_t> parse_half(std::string_view text) noexcept {
  std::uint64_t value = 0;
  for (const char c : text) {
    std::uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint64_t>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<std::uint64_t>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    value = (value << 4U) | digit;
  }
  return value;
}

}  // namespace

std::string to_string(const Id128& id) {
  std::string text(32, '0');
  print_half(id.high, text.data());
  print_half(id.low, text.data() + 16);
  return text;
}

std::optional<Id128> parse_id(std::string_view text) noexcept {
  if (text.size() != 32) return std::nullopt;
  const auto high = parse_half(text.substr(0, 16));
  const auto low = parse_half(text.substr(16));
  if (!high || !low) return std::nullopt;
  return Id128{*high, *low};
}

}  // namespace dlo
