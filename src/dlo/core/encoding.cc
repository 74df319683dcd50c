#include "dlo/core/encoding.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace dlo {

namespace {

std::uint8_t byte_at(std::string_view bytes, std::size_t at) noexcept {
  return static_cast<std::uint8_t>(bytes[at]);
}

struct Sequence {
  std::size_t length = 1;  // of the well-formed sequence, or of the maximal ill-formed subpart
  bool ok = false;
};

/// Unicode table 3-7: the second byte's range depends on the first, later ones are 80..BF.
Sequence sequence_at(std::string_view bytes, std::size_t at) noexcept {
  const std::uint8_t first = byte_at(bytes, at);
  if (first < 0x80) return {1, true};
  std::size_t length = 0;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= bytes.size()) return {i, false};
    const std::uint8_t next = byte_at(bytes, at + i);
    if (next < low || next > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

/// The first place at or after `at` that is not ASCII, eight bytes at a time: most text is.
std::size_t ascii_run(std::string_view bytes, std::size_t at) noexcept {
  std::uint64_t word = 0;
  while (at + sizeof word <= bytes.size()) {
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if ((word & 0x8080808080808080ULL) != 0) break;
    at += sizeof word;
  }
  while (at < bytes.size() && byte_at(bytes, at) < 0x80) ++at;
  return at;
}

constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> base64_values() {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < base64_digits.size(); ++i) {
    values[static_cast<std::uint8_t>(base64_digits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}

constexpr std::int64_t millis_per_day = 86'400'000;

struct Civil {
  std::int64_t year;
  unsigned month;
  unsigned day;
};

/// Days since 1970-01-01 to a date of the proleptic Gregorian calendar. std::chrono::year ends at
/// 32767, which not every TimePoint does.
constexpr Civil civil_from_days(std::int64_t days) {
  const std::int64_t shifted = days + 719'468;  // days since 0000-03-01
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const auto day_of_era = static_cast<unsigned>(shifted - era * 146'097);
  const unsigned year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const unsigned day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const unsigned month_from_march = (5 * day_of_year + 2) / 153;
  const unsigned day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const unsigned month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return {era * 400 + year_of_era + (month <= 2 ? 1 : 0), month, day};
}

constexpr std::int64_t days_from_civil(Civil date) {
  const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const auto year_of_era = static_cast<unsigned>(year - era * 400);
  const unsigned month_from_march = date.month > 2 ? date.month - 3 : date.month + 9;
  const unsigned day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
  const unsigned day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

constexpr unsigned days_in_month(std::int64_t year, unsigned month) {
  constexpr std::array<unsigned, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : days[month - 1];
}

void append_padded(std::string& out, std::uint64_t value, std::size_t width) {
  std::array<char, 20> digits{};
  std::size_t at = digits.size();
  for (; value > 0 || digits.size() - at < width; value /= 10) {
    digits[--at] = static_cast<char>('0' + value % 10);
  }
  out.append(digits.data() + at, digits.size() - at);
}

/// Reads a timestamp from left to right; after the first mistake everything answers false.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : text_(text) {}

  bool literal(std::string_view any_of) {
    if (text_.empty() || any_of.find(text_.front()) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::optional<std::int64_t> number(std::size_t least, std::size_t most) {
    std::int64_t value = 0;
    std::size_t digits = 0;
    while (digits < most && next_is_digit()) {
      value = value * 10 + (text_.front() - '0');
      text_.remove_prefix(1);
      ++digits;
    }
    if (digits < least) return std::nullopt;
    return value;
  }
  [[nodiscard]] bool next_is_digit() const {
    return !text_.empty() && text_.front() >= '0' && text_.front() <= '9';
  }
  [[nodiscard]] char front() const { return text_.empty() ? '\0' : text_.front(); }
  [[nodiscard]] bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
};

std::optional<std::int64_t> read_year(TimeReader& in) {
  const char sign = in.front();
  if (sign != '+' && sign != '-') return in.number(4, 4);
  in.literal("+-");
  const auto year = in.number(4, 10);
  if (!year) return std::nullopt;
  return sign == '-' ? -*year : *year;
}

std::optional<std::int64_t> read_days(TimeReader& in) {
  const auto year = read_year(in);
  if (!year || !in.literal("-")) return std::nullopt;
  const auto month = in.number(2, 2);
  if (!month || *month < 1 || *month > 12 || !in.literal("-")) return std::nullopt;
  const auto day = in.number(2, 2);
  const auto month_number = static_cast<unsigned>(*month);
  if (!day || *day < 1 || *day > days_in_month(*year, month_number)) return std::nullopt;
  return days_from_civil({*year, month_number, static_cast<unsigned>(*day)});
}

std::optional<std::int64_t> read_clock(TimeReader& in) {
  const auto hour = in.number(2, 2);
  if (!hour || *hour > 23 || !in.literal(":")) return std::nullopt;
  const auto minute = in.number(2, 2);
  if (!minute || *minute > 59 || !in.literal(":")) return std::nullopt;
  const auto second = in.number(2, 2);
  if (!second || *second > 59) return std::nullopt;
  std::int64_t millis = 0;
  if (in.literal(".")) {
    if (!in.next_is_digit()) return std::nullopt;
    for (const int unit : {100, 10, 1}) {
      if (in.next_is_digit()) millis += *in.number(1, 1) * unit;
    }
    while (in.next_is_digit()) in.number(1, 1);
  }
  return ((*hour * 60 + *minute) * 60 + *second) * 1000 + millis;
}

std::optional<std::int64_t> read_offset(TimeReader& in) {
  if (in.literal("Zz")) return 0;
  const bool west = in.front() == '-';
  if (!in.literal("+-")) return std::nullopt;
  const auto hour = in.number(2, 2);
  if (!hour || *hour > 23 || !in.literal(":")) return std::nullopt;
  const auto minute = in.number(2, 2);
  if (!minute || *minute > 59) return std::nullopt;
  const std::int64_t offset = (*hour * 60 + *minute) * 60'000;
  return west ? -offset : offset;
}

}  // namespace

bool is_utf8(std::string_view bytes) noexcept {
  for (std::size_t at = ascii_run(bytes, 0); at < bytes.size(); at = ascii_run(bytes, at)) {
    const Sequence sequence = sequence_at(bytes, at);
    if (!sequence.ok) return false;
    at += sequence.length;
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t ascii = ascii_run(bytes, at);
    out += bytes.substr(at, ascii - at);
    at = ascii;
    if (at == bytes.size()) break;
    const Sequence sequence = sequence_at(bytes, at);
    out += sequence.ok ? bytes.substr(at, sequence.length) : std::string_view("\xEF\xBF\xBD");
    at += sequence.length;
  }
  return out;
}

std::size_t utf8_length(std::string_view bytes, std::size_t at) noexcept {
  const Sequence sequence = sequence_at(bytes, at);
  return sequence.ok ? sequence.length : 1;
}

std::string to_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  std::size_t to = 0;
  const std::size_t whole = bytes.size() / 3 * 3;
  for (std::size_t at = 0; at < whole; at += 3) {
    const std::uint32_t bits = static_cast<std::uint32_t>(byte_at(bytes, at)) << 16U |
                               static_cast<std::uint32_t>(byte_at(bytes, at + 1)) << 8U |
                               byte_at(bytes, at + 2);
    for (unsigned shift = 24; shift > 0;) out[to++] = base64_digits[bits >> (shift -= 6) & 63U];
  }
  const std::size_t rest = bytes.size() - whole;
  if (rest == 0) return out;
  const std::uint32_t bits =
      static_cast<std::uint32_t>(byte_at(bytes, whole)) << 16U |
      (rest == 2 ? static_cast<std::uint32_t>(byte_at(bytes, whole + 1)) << 8U : 0U);
  for (std::size_t i = 0; i <= rest; ++i) out[to++] = base64_digits[bits >> (18U - 6U * i) & 63U];
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  static constexpr auto values = base64_values();
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  std::size_t to = 0;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::size_t digits = 4;
    if (at + 4 == text.size()) {
      while (digits > 2 && text[at + digits - 1] == '=') --digits;
    }
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const int value = i < digits ? values[byte_at(text, at + i)] : 0;
      if (value < 0) return std::nullopt;
      bits = bits << 6U | static_cast<std::uint32_t>(value);
    }
    // Bits beyond the last byte must be zero, or two texts would mean the same bytes.
    if (digits < 4 && (bits & (digits == 3 ? 0xFFU : 0xFFFFU)) != 0) return std::nullopt;
    for (std::size_t i = 0; i + 1 < digits; ++i) {
      out[to++] = static_cast<char>(static_cast<std::uint8_t>(bits >> (16U - 8U * i)));
    }
  }
  out.resize(to);
  return out;
}

std::string to_iso8601(TimePoint time) {
  const std::int64_t total = time.time_since_epoch().count();
  std::int64_t days = total / millis_per_day;
  std::int64_t rest = total % millis_per_day;
  if (rest < 0) {
    rest += millis_per_day;
    --days;
  }
  const Civil date = civil_from_days(days);
  std::string out;
  out.reserve(24);
  if (date.year < 0 || date.year > 9999) out += date.year < 0 ? '-' : '+';
  append_padded(out, static_cast<std::uint64_t>(date.year < 0 ? -date.year : date.year), 4);
  const auto field = [&out](char before, std::int64_t value, std::size_t width) {
    out += before;
    append_padded(out, static_cast<std::uint64_t>(value), width);
  };
  field('-', date.month, 2);
  field('-', date.day, 2);
  field('T', rest / 3'600'000, 2);
  field(':', rest / 60'000 % 60, 2);
  field(':', rest / 1'000 % 60, 2);
  field('.', rest % 1'000, 3);
  out += 'Z';
  return out;
}

std::optional<TimePoint> parse_iso8601(std::string_view text) noexcept {
  TimeReader in(text);
  const auto days = read_days(in);
  if (!days || !in.literal("Tt ")) return std::nullopt;
  const auto clock = read_clock(in);
  if (!clock) return std::nullopt;
  const auto offset = read_offset(in);
  if (!offset || !in.done()) return std::nullopt;
  std::int64_t total = 0;
  // The earliest day begins before the first TimePoint: add its clock first where that helps.
  const std::int64_t within = *clock - *offset;
  const bool early = *days < 0;
  if (__builtin_mul_overflow(early ? *days + 1 : *days, millis_per_day, &total) ||
      __builtin_add_overflow(total, early ? within - millis_per_day : within, &total)) {
    return std::nullopt;
  }
  return TimePoint{Millis{total}};
}

}  // namespace dlo
