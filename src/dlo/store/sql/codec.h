#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/dead_letter.h"
#include "dlo/core/trend.h"

namespace dlo::sql {

// The bodies' own binary form: varints and length-prefixed bytes, so that every byte of a message
// comes back as it was. Each blob begins with a format number.

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}
  void number(std::uint64_t value);
  void integer(std::int64_t value);  // small magnitudes are short, negative ones too
  void text(std::string_view value);
  void id(const Id128& value);
  void time(TimePoint value) { integer(value.time_since_epoch().count()); }
  void maybe_time(const std::optional<TimePoint>& value);
  void flag(bool value) { number(value ? 1 : 0); }

 private:
  std::string& out_;
};

/// Throws `Failed` (corrupt) when the bytes end early or mean nothing.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] std::uint64_t number();
  [[nodiscard]] std::int64_t integer();
  [[nodiscard]] std::string text();
  [[nodiscard]] Id128 id();
  [[nodiscard]] TimePoint time() { return TimePoint{Millis{integer()}}; }
  [[nodiscard]] std::optional<TimePoint> maybe_time();
  [[nodiscard]] bool flag() { return number() != 0; }
  /// How many things follow; refuses more than there are bytes for.
  [[nodiscard]] std::size_t count();
  /// A number up to `last`, as an enumeration whose last value that is.
  template <typename Enum>
  [[nodiscard]] Enum choice(Enum last) {
    const std::uint64_t value = number();
    if (value > static_cast<std::uint64_t>(last)) damaged();
    return static_cast<Enum>(value);
  }

 private:
  [[noreturn]] static void damaged();
  [[nodiscard]] std::string_view take(std::size_t size);
  std::string_view rest_;
};

/// Error texts up to this long are kept in the head only; longer ones whole in the facts and cut
/// in the head, so that heads stay many to a page.
inline constexpr std::size_t head_text_limit = 1024;

/// Everything of a message but its payload and what the head holds (source, type, key, id).
[[nodiscard]] std::string encode_envelope(const Message& message);
void decode_envelope(std::string_view bytes, Message& message);

/// What transitions may change besides the head.
[[nodiscard]] std::string encode_facts(const DeadLetter& record);
/// `record` already has its head: a short error text is left as it is.
void decode_facts(std::string_view bytes, DeadLetter& record);

[[nodiscard]] std::string encode_attempt(const Attempt& attempt);
[[nodiscard]] Attempt decode_attempt(std::string_view bytes);

/// What people tied to a group, and how its deaths lie in time. Nothing is empty bytes.
[[nodiscard]] std::string encode_tags(const std::vector<std::string>& tags);
[[nodiscard]] std::vector<std::string> decode_tags(std::string_view bytes);
[[nodiscard]] std::string encode_trend(const Trend& trend);
[[nodiscard]] Trend decode_trend(std::string_view bytes);

[[nodiscard]] std::string encode_headers(const Headers& headers);
[[nodiscard]] Headers decode_headers(std::string_view bytes);

}  // namespace dlo::sql
