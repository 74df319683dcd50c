#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"

namespace dlo::query {

enum class Op : std::uint8_t { none, more, more_or_equal, less, less_or_equal };

struct Value {
  Op op = Op::none;
  std::string text;
  bool quoted = false;
  std::size_t at = 0;  // byte of the text
};

/// `-source:a,b`, `header.tenant:acme`, `"timed out"`.
struct Term {
  bool negated = false;
  std::string qualifier;  // empty: free text, one value; `header.` and `body.` with their dot
  std::string path;
  std::vector<Value> values;
  std::size_t at = 0;  // of the term
};

/// A mistake with its place: "column 8: ...".
[[nodiscard]] Error mistake(std::string_view text, std::size_t at, const std::string& what);

/// Splits a query into terms: only what can be told without knowing the qualifiers.
class TermReader {
 public:
  explicit TermReader(std::string_view text) : text_(text) {}

  /// False at the end of the text.
  [[nodiscard]] Result<bool> next(Term& term);

 private:
  [[nodiscard]] Result<void> qualifier(Term& term);
  [[nodiscard]] Result<void> path(Term& term);
  [[nodiscard]] Result<void> values(Term& term);
  [[nodiscard]] Result<void> free_text(Term& term);
  [[nodiscard]] Result<std::string> quoted();
  [[nodiscard]] Result<std::string> bare(bool stop_at_comma);
  void skip_blanks() noexcept;
  [[nodiscard]] bool is_end() const noexcept;
  [[nodiscard]] Op take_op() noexcept;
  [[nodiscard]] Error expected(const std::string& what) const;

  std::string_view text_;
  std::size_t at_ = 0;
};

[[nodiscard]] constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
/// A character that may stand in the name of a qualifier.
[[nodiscard]] constexpr bool is_name_char(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
/// How long the name at the beginning of `text` is; 0 if it is none. Names begin with a letter.
[[nodiscard]] std::size_t name_length(std::string_view text) noexcept;

}  // namespace dlo::query
