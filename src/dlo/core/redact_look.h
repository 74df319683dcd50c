#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "dlo/core/byte_class.h"

/// How redact judges what it meets: characters, names and values.
namespace dlo::redact_look {

using byte_class::is_alnum;
using byte_class::is_digit;

[[nodiscard]] constexpr bool is_upper(char c) noexcept {
  return c >= 'A' && c <= 'Z';
}
[[nodiscard]] constexpr bool is_lower(char c) noexcept {
  return c >= 'a' && c <= 'z';
}
[[nodiscard]] constexpr bool is_word(char c) noexcept {
  return (byte_class::kind_of(c) & byte_class::name) != 0;
}
[[nodiscard]] constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t';
}
[[nodiscard]] constexpr bool is_space(char c) noexcept {
  return is_blank(c) || (c >= '\n' && c <= '\r');
}
[[nodiscard]] constexpr bool is_quote(char c) noexcept {
  return c == '"' || c == '\'' || c == '`';
}
[[nodiscard]] constexpr bool is_token68(char c) noexcept {
  return is_word(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '=';
}

/// `a` is `lower`, ASCII case ignored.
[[nodiscard]] bool same(std::string_view a, std::string_view lower) noexcept;
[[nodiscard]] bool is_one_of(std::string_view word,
                             std::span<const std::string_view> list) noexcept;

/// The end of a name, folded: lower case, `_` and `-` left out.
class FoldedName {
 public:
  explicit FoldedName(std::string_view name) noexcept;
  [[nodiscard]] bool ends_like(std::span<const std::string_view> list) const noexcept;
  [[nodiscard]] bool is(std::span<const std::string_view> list) const noexcept;
  [[nodiscard]] std::string_view view() const noexcept;

 private:
  std::array<char, 24> kept_{};
  std::size_t size_ = 0;
};

/// Where the last word of a name begins: behind `_`, `-` or `.`, or at the last capital behind a
/// small letter or before one (`accessToken`, `CSRFToken`).
[[nodiscard]] std::size_t last_word(std::string_view name) noexcept;

/// How much a name says about its value.
enum class Trust : std::uint8_t {
  doubtful,  // `token`: a secret if it looks like one
  session,   // `session_id`: the same, or as `likely` if it is long
  likely,    // `access_token`: a secret unless it is a word that no token is
  certain,   // `password`: a secret unless a sentence begins
};

/// What `name`, which ends like a suspicious one, says; `before` is what stands in front of it.
[[nodiscard]] Trust trust_in(std::string_view name, std::string_view before) noexcept;

/// Random rather than written by a person: letters with digits, padding, or very long.
[[nodiscard]] bool looks_random(std::string_view value) noexcept;

/// Nothing that a sentence would say of a password: `hunter2`, `S3cret!`, `mfXqLw`, but not
/// `required` or `case-sensitive`.
[[nodiscard]] bool is_no_word(std::string_view value) noexcept;

/// Capitals wherever they fall, as in `mfXqLwpZ` and not in `InvalidTokenError`.
[[nodiscard]] bool is_jumbled(std::string_view value) noexcept;

/// Whether a sentence about a header goes on with this word.
[[nodiscard]] bool is_header_prose(std::string_view word) noexcept;

/// What stands behind a scheme name: user and password in base64, or something random.
[[nodiscard]] bool looks_like_credentials(std::string_view value);

/// Empty, or nothing but stars.
[[nodiscard]] bool is_masked(std::string_view value) noexcept;

/// `null` and the like.
[[nodiscard]] bool says_nothing(std::string_view value) noexcept;

/// "must be at least 8 characters": the first word gives a sentence away. `after` is the character
/// that follows the value: one quoted word is a value, not a sentence.
[[nodiscard]] bool is_prose(std::string_view value, char after, Trust trust) noexcept;

}  // namespace dlo::redact_look
