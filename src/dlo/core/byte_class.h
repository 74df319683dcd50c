#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// What kind a byte of a text is, by one look into a table. ASCII only, whatever the locale.
namespace dlo::byte_class {

inline constexpr std::uint8_t digit = 1;
inline constexpr std::uint8_t alpha = 2;
inline constexpr std::uint8_t hex = 4;
inline constexpr std::uint8_t gap = 8;      // white space and control characters
inline constexpr std::uint8_t beside = 16;  // part of a word or of a mark, or not ASCII
inline constexpr std::uint8_t inert = 32;   // with none of these something begins that is folded
inline constexpr std::uint8_t name = 64;    // letters, digits, `_` and `-`

constexpr std::array<std::uint8_t, 256> make_kinds() {
  std::array<std::uint8_t, 256> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::size_t lower = i | 0x20U;
    const bool is_digit = i >= '0' && i <= '9';
    const bool is_alpha = lower >= 'a' && lower <= 'z' && i < 0x80;
    const bool is_beside = is_digit || is_alpha || i == '_' || i == '<' || i == '>' || i >= 0x80;
    unsigned kind = 0;
    if (is_digit) kind |= digit | hex;
    if (is_alpha) kind |= alpha | (lower <= 'f' ? hex : 0U);
    if (i <= ' ' || i == 0x7F) kind |= gap;
    if (is_beside) kind |= beside;
    if (is_digit || is_alpha || i == '_' || i == '-') kind |= name;
    const bool is_sign = std::string_view("!#$%&()*+,.:;=>?[]^_{|}~").find(static_cast<char>(i)) !=
                         std::string_view::npos;
    if (is_alpha || is_sign || i >= 0x80) kind |= inert;
    kinds[i] = static_cast<std::uint8_t>(kind);
  }
  return kinds;
}
inline constexpr std::array<std::uint8_t, 256> kinds = make_kinds();

[[nodiscard]] constexpr std::uint8_t kind_of(char c) noexcept {
  return kinds[static_cast<unsigned char>(c)];
}
[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return (kind_of(c) & digit) != 0;
}
[[nodiscard]] constexpr bool is_alpha(char c) noexcept {
  return (kind_of(c) & alpha) != 0;
}
[[nodiscard]] constexpr bool is_alnum(char c) noexcept {
  return (kind_of(c) & (alpha | digit)) != 0;
}
[[nodiscard]] constexpr bool is_hex(char c) noexcept {
  return (kind_of(c) & hex) != 0;
}
[[nodiscard]] constexpr bool is_gap(char c) noexcept {
  return (kind_of(c) & gap) != 0;
}
/// For rules that ask what stands beside a place. The marks of folded text count as words, so that
/// a folded neighbour and the original are judged alike.
[[nodiscard]] constexpr bool is_beside(char c) noexcept {
  return (kind_of(c) & beside) != 0;
}

[[nodiscard]] constexpr bool is_inert(char c) noexcept {
  return (kind_of(c) & inert) != 0;
}

}  // namespace dlo::byte_class
