#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlo {

enum class JsonToken : std::uint8_t {
  begin_object,
  end_object,
  begin_array,
  end_array,
  key,
  string,
  number,
  boolean,
  null,
  end,      // the whole text was one JSON value
  mistake,  // it is not JSON; stays so
};

/// How deep arrays and objects may be nested unless somebody says otherwise: far beyond what people
/// write, far below what makes recursive consumers fall over.
inline constexpr std::size_t json_depth = 128;

/// Reads JSON (RFC 8259) token by token over text that somebody else keeps. Exact: tokens are
/// slices of the text, so no number is ever converted. Memory grows with depth only. Strict about
/// grammar and UTF-8; tolerant of repeated keys, of any size and precision of numbers and of
/// escapes for lone surrogates, which the grammar allows.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text, std::size_t deepest = json_depth)
      : text_(text), deepest_(deepest) {}

  JsonToken next();

  /// The token just read, as it stands in the text (strings with their quotes).
  [[nodiscard]] std::string_view raw() const noexcept { return raw_; }
  /// How many arrays and objects are open after the token just read.
  [[nodiscard]] std::size_t depth() const noexcept { return open_.size(); }
  /// After JsonToken::mistake: "expected a value, found 'x' at line 1, column 8 (byte 7)".
  [[nodiscard]] std::string mistake() const;

 private:
  enum class Expect : std::uint8_t { value, value_or_end, key, key_or_end, comma_or_end, nothing };

  JsonToken value(char first);
  JsonToken open(char bracket);
  JsonToken close(char bracket);
  JsonToken key();
  JsonToken string(JsonToken as);
  JsonToken number();
  JsonToken word(std::string_view expected, JsonToken as);
  JsonToken refuse(const char* what);
  JsonToken done(std::size_t size, JsonToken token);
  bool escape();
  std::size_t digits(std::size_t from) const noexcept;
  void skip_blanks() noexcept;
  [[nodiscard]] char peek(std::size_t ahead = 0) const noexcept {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  std::string_view text_;
  std::size_t deepest_;
  std::size_t at_ = 0;
  std::string_view raw_;
  std::string open_;  // the brackets that are open, outermost first
  Expect expect_ = Expect::value;
  const char* mistake_ = nullptr;
};

/// What is wrong with `text`, or nothing if it is exactly one JSON value.
[[nodiscard]] std::optional<std::string> json_mistake(std::string_view text,
                                                      std::size_t deepest = json_depth);

/// The characters a string token stands for; lone surrogates become U+FFFD.
[[nodiscard]] std::string json_unescape(std::string_view raw);

}  // namespace dlo
