#include <algorithm>
#include <array>

#include "dlo/core/encoding.h"
#include "dlo/core/fingerprint.h"
#include "dlo/core/normalise_tables.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

using namespace normalise_tables;  // NOLINT: made for this file
constexpr auto npos = std::string_view::npos;
constexpr std::size_t limit = normalised_text_limit;

constexpr std::string_view number_mark = "<n>";
constexpr std::string_view id_mark = "<id>";
constexpr std::string_view time_mark = "<time>";
constexpr std::string_view text_mark = "<text>";
constexpr std::string_view ip_mark = "<ip>";
constexpr std::string_view duration_mark = "<duration>";
constexpr std::string_view path_mark = "<path>";
constexpr std::string_view email_mark = "<email>";
constexpr std::array marks = {number_mark, id_mark,       time_mark, text_mark,
                              ip_mark,     duration_mark, path_mark, email_mark};

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
constexpr bool is_alpha(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_alnum(char c) noexcept {
  return is_digit(c) || is_alpha(c);
}
constexpr bool is_hex(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
constexpr bool is_gap(char c) noexcept {
  return static_cast<unsigned char>(c) <= ' ' || c == 0x7F;
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::ranges::any_of(list, [word](std::string_view entry) {
    return entry.size() == word.size() &&
           std::ranges::equal(word, entry, {}, [](char c) { return ascii_lower(c); });
  });
}

class Normaliser {
 public:
  explicit Normaliser(std::string_view text) : in_(text) { out_.reserve(text.size()); }

  std::string run() {
    while (at_ < in_.size() && !full_) step();
    while (out_.ends_with(' ')) out_.pop_back();
    return std::move(out_);
  }

 private:
  [[nodiscard]] char peek(std::size_t i) const noexcept { return i < in_.size() ? in_[i] : '\0'; }
  [[nodiscard]] std::string_view slice(std::size_t from, std::size_t to) const noexcept {
    return in_.substr(from, to - from);
  }
  template <typename Test>
  [[nodiscard]] std::size_t skip(std::size_t from, Test test) const noexcept {
    while (from < in_.size() && test(in_[from])) ++from;
    return from;
  }
  /// Part of a word, for the rules that ask what stands beside a place. Marks count as words, so
  /// that a folded neighbour and the original are judged alike.
  [[nodiscard]] bool in_word(std::size_t i) const noexcept {
    const char c = peek(i);
    return is_alnum(c) || c == '_' || c == '<' || c == '>' ||
           (static_cast<unsigned char>(c) >= 0x80);
  }

  void step() {
    const char c = in_[at_];
    if (is_gap(c)) return gap();
    if (c == '<' && mark()) return;
    if ((c == '"' || c == '\'' || c == '`') && quoted()) return;
    const bool starts_word = at_ == 0 || !in_word(at_ - 1);
    if (starts_word && (c == '/' || c == '\\') && scratch_path()) return;
    if (starts_word && (is_alnum(c) || c == ':') && (date() || clock() || uuid() || address6()))
      return;
    if (is_digit(c)) return digits(starts_word);
    if (is_alpha(c)) return word();
    if ((c == '-' || c == '+') && starts_word && is_digit(peek(at_ + 1)) && sign_stands_alone()) {
      ++at_;
      return;
    }
    keep(at_ + std::max<std::size_t>(1, utf8_length(in_, at_)));
    if (c != ' ' && std::string_view("=:#-/( ").find(c) == npos) after_code_ = 0;
  }

  // --- output

  void put(std::string_view token) {
    if (out_.size() + token.size() > limit) {
      full_ = true;
    } else {
      out_.append(token);
    }
  }
  /// Copies up to `to` unchanged.
  void keep(std::size_t to) {
    put(slice(at_, to));
    at_ = to;
  }
  /// Puts a mark for everything up to `to`. Lists of alike things count as one.
  void fold(std::string_view token, std::size_t to) {
    at_ = to;
    for (const std::string_view between : {", ", ",", " ", "; ", ""}) {
      if (!out_.ends_with(between)) continue;
      if (std::string_view(out_).substr(0, out_.size() - between.size()).ends_with(token)) {
        out_.resize(out_.size() - between.size());
        return;
      }
    }
    put(token);
  }

  void gap() {
    at_ = skip(at_, is_gap);
    if (!out_.empty() && !out_.ends_with(' ')) put(" ");
    if (after_code_ > 0) --after_code_;
  }

  bool mark() {
    for (const std::string_view known : marks) {
      if (in_.substr(at_, known.size()) == known) {
        fold(known, at_ + known.size());
        return true;
      }
    }
    return false;
  }

  // --- quotes

  bool quoted() {
    const char quote = in_[at_];
    const std::size_t kind = std::string_view("\"'`").find(quote);
    if (unclosed_[kind] || (at_ > 0 && in_word(at_ - 1))) return false;
    for (std::size_t i = at_ + 1; i < in_.size(); ++i) {
      const bool closes = in_[i] == quote || (quote == '`' && in_[i] == '\'');
      if (!closes || in_[i - 1] == '\\' || in_word(i + 1)) continue;
      fold(text_mark, i + 1);
      return true;
    }
    unclosed_[kind] = true;
    return false;
  }

  // --- numbers

  [[nodiscard]] bool sign_stands_alone() const noexcept {
    return at_ == 0 || is_gap(in_[at_ - 1]) || std::string_view("=:([,").find(in_[at_ - 1]) != npos;
  }

  void digits(bool starts_word) {
    const std::size_t first = skip(at_, is_digit);
    std::size_t end = first;
    std::size_t parts = 1;
    while ((peek(end) == '.' || peek(end) == ',') && is_digit(peek(end + 1))) {
      ++parts;
      end = skip(end + 1, is_digit);
    }
    if (after_code_ > 0 && first - at_ <= 6 && !is_alpha(peek(end))) return keep(end);
    if (starts_word && parts == 1 && is_alnum(peek(end))) return word();
    if (parts == 4 && slice(at_, end).find(',') == npos) {
      if (peek(end) == ':' && is_digit(peek(end + 1))) end = skip(end + 1, is_digit);
      return fold(ip_mark, end);
    }
    if (const std::size_t unit = duration_end(end); unit != npos) return fold(duration_mark, unit);
    fold(number_mark, end);
  }

  /// Where a duration ends whose first number ends at `end`: `30s`, `1m30s`, `5 seconds`.
  [[nodiscard]] std::size_t duration_end(std::size_t end) const {
    std::size_t i = end;
    if (peek(i) == ' ') ++i;
    std::size_t unit = skip(i, is_alpha);
    std::string_view name = slice(i, unit);
    if (!is_one_of(name, units) || (i > end && name.size() == 1 && name != "s")) return npos;
    while (is_digit(peek(unit))) {
      const std::size_t more = skip(unit, [](char c) { return is_digit(c) || c == '.'; });
      const std::size_t next = skip(more, is_alpha);
      if (!is_one_of(slice(more, next), units)) return npos;
      unit = next;
    }
    return in_word(unit) ? npos : unit;
  }

  // --- words

  void word() {
    const std::size_t end = skip(at_, is_alnum);
    const std::string_view text = slice(at_, end);
    if (at_sign(end)) return;
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
        std::ranges::all_of(text.substr(2), is_hex)) {
      return after_code_ > 0 ? keep(end) : fold(id_mark, end);
    }
    if (std::ranges::none_of(text, is_digit)) {
      after_code_ = is_one_of(text, codes) ? 3 : 0;
      return keep(end);
    }
    if (is_digit(text[0])) {
      const std::size_t numeric = skip(at_, is_digit);
      if (const std::size_t unit = duration_end(numeric); unit != npos)
        return fold(duration_mark, unit);
    }
    if (looks_drawn(text) || (at_ > 0 && in_[at_ - 1] == '@')) return fold(id_mark, end);
    after_code_ = 0;
    while (at_ < end && !full_) {  // utf8, order1234: only the digits vary
      if (is_digit(in_[at_])) {
        fold(number_mark, std::min(end, skip(at_, is_digit)));
      } else {
        keep(std::min(end, skip(at_, is_alpha)));
      }
    }
  }

  /// Drawn by a machine: letters and digits in turns, long hexadecimal, or very long.
  static bool looks_drawn(std::string_view text) {
    std::size_t turns = 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
      turns += is_digit(text[i]) != is_digit(text[i - 1]) ? 1 : 0;
    }
    const bool hex = std::ranges::all_of(text, is_hex);
    return turns >= 3 || (hex && turns > 0 && text.size() >= 8) || text.size() >= 24;
  }

  /// bob.smith@example.com
  bool at_sign(std::size_t end) {
    const auto in_name = [](char c) {
      return is_alnum(c) || c == '.' || c == '_' || c == '-' || c == '+';
    };
    const std::size_t name = skip(end, in_name);
    if (name == email_checked_ || peek(name) != '@') {
      email_checked_ = name;
      return false;
    }
    const std::size_t host =
        skip(name + 1, [](char c) { return is_alnum(c) || c == '.' || c == '-'; });
    const std::string_view domain = slice(name + 1, host);
    const std::size_t dot = domain.rfind('.');
    if (dot == npos || dot == 0 || dot + 2 >= domain.size() ||
        !std::ranges::all_of(domain.substr(dot + 1), is_alpha)) {
      email_checked_ = name;
      return false;
    }
    fold(email_mark, host);
    return true;
  }

  bool uuid() {
    constexpr std::array<std::size_t, 5> groups = {8, 4, 4, 4, 12};
    std::size_t i = at_;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      if (group > 0 && peek(i++) != '-') return false;
      const std::size_t end = i + groups[group];
      while (i < end && is_hex(peek(i))) ++i;
      if (i != end) return false;
    }
    if (is_alnum(peek(i))) return false;
    fold(id_mark, i);
    return true;
  }

  bool address6() {
    const std::size_t end = skip(at_, [](char c) { return is_hex(c) || c == ':'; });
    const std::string_view text = slice(at_, end);
    const auto colons = std::ranges::count(text, ':');
    const bool shaped = colons == 7 || (colons >= 2 && text.find("::") != npos);
    if (!shaped || text.size() > 39 || is_alnum(peek(end)) ||
        std::ranges::none_of(text, is_digit)) {
      return false;
    }
    fold(ip_mark, end);
    return true;
  }

  bool scratch_path() {
    const bool known = std::ranges::any_of(
        scratch, [&](std::string_view prefix) { return in_.substr(at_, prefix.size()) == prefix; });
    if (!known) return false;
    fold(path_mark, skip(at_, [](char c) {
           return !is_gap(c) && std::string_view("\"'`<>,;:()[]{}").find(c) == npos;
         }));
    return true;
  }

  // --- times

  bool date() {
    const bool by_name = is_alpha(in_[at_]);
    for (const std::string_view pattern : dates) {
      if (by_name != (pattern[0] == 'W' || pattern[0] == 'M')) continue;
      std::size_t end = match(pattern);
      if (end == npos || is_alnum(peek(end) == 'T' ? '0' : peek(end)) != (peek(end) == 'T'))
        continue;
      std::size_t time = end;
      if (peek(time) == 'T' || peek(time) == ':' || peek(time) == ',') ++time;
      while (peek(time) == ' ' && time < end + 2) ++time;
      if (const std::size_t clock_end = match_clock(time); clock_end != npos) {
        end = clock_end;
      } else if (peek(end) == 'T') {
        continue;
      }
      if (pattern[0] == 'W') end = trailing_year(end);
      fold(time_mark, end);
      return true;
    }
    return false;
  }
  bool clock() {
    const std::size_t end = match_clock(at_);
    if (end == npos) return false;
    fold(time_mark, end);
    return true;
  }

  [[nodiscard]] std::size_t match(std::string_view pattern) const {
    std::size_t i = at_;
    for (const char p : pattern) {
      const std::size_t run = skip(i, is_digit) - i;
      if (p == 'Y' || p == 'D' || p == 'd') {
        const bool fits = p == 'Y' ? run == 4 : p == 'D' ? run == 2 : run == 1 || run == 2;
        if (!fits) return npos;
        i += run;
      } else if (p == 'M' || p == 'W') {
        const std::size_t end = skip(i, is_alpha);
        if (end - i < 3 || end - i > 9) return npos;
        const std::string_view name = slice(i, i + 3);
        if (p == 'M' ? !is_one_of(name, months) : !is_one_of(name, weekdays)) return npos;
        i = end;
      } else if (peek(i++) != p) {
        return npos;
      }
    }
    return i;
  }

  /// 12:00, 12:00:00.123, with AM or PM and a zone.
  [[nodiscard]] std::size_t match_clock(std::size_t from) const {
    std::size_t i = skip(from, is_digit);
    if (i == from || i - from > 2) return npos;
    std::size_t fields = 1;
    while (peek(i) == ':' && is_digit(peek(i + 1)) && is_digit(peek(i + 2)) &&
           !is_digit(peek(i + 3))) {
      ++fields;
      i += 3;
    }
    if (fields < 2 || fields > 3 || (fields == 2 && from == at_)) return npos;
    if ((peek(i) == '.' || peek(i) == ',') && is_digit(peek(i + 1))) i = skip(i + 1, is_digit);
    const std::size_t half = i + (peek(i) == ' ' ? 1 : 0);
    if (is_one_of(slice(half, std::min(half + 2, in_.size())), half_days) &&
        !is_alnum(peek(half + 2))) {
      i = half + 2;
    }
    return zone_end(i);
  }
  [[nodiscard]] std::size_t zone_end(std::size_t i) const {
    if (peek(i) == 'Z' && !is_alnum(peek(i + 1))) return i + 1;
    const std::size_t zone = i + (peek(i) == ' ' ? 1 : 0);
    for (const std::string_view name : {"UTC", "GMT", "CET", "CEST", "EST", "EDT", "PST", "PDT"}) {
      if (in_.substr(std::min(zone, in_.size()), name.size()) == name &&
          !is_alnum(peek(zone + name.size()))) {
        return zone + name.size();
      }
    }
    if (peek(zone) != '+' && peek(zone) != '-') return i;
    const std::size_t offset = skip(zone + 1, [](char c) { return is_digit(c) || c == ':'; });
    const std::size_t size = offset - zone - 1;
    return size == 4 || size == 5 ? offset : i;
  }
  [[nodiscard]] std::size_t trailing_year(std::size_t end) const {
    const std::size_t year = skip(end + 1, is_digit);
    return peek(end) == ' ' && year - end == 5 && !is_alnum(peek(year)) ? year : end;
  }

  static constexpr auto half_days = std::to_array<std::string_view>({"am", "pm"});
  std::string_view in_;
  std::string out_;
  std::size_t at_ = 0;
  int after_code_ = 0;  // numbers are kept while this is not zero
  bool full_ = false;
  std::array<bool, 3> unclosed_{};
  std::size_t email_checked_ = npos;
};

}  // namespace

std::string normalise(std::string_view text) {
  std::size_t cut = std::min(text.size(), limit);
  while (cut > 0 && cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80) {
    --cut;
  }
  std::string folded = to_utf8(text.substr(0, cut));
  // A fold changes what its neighbours stand beside; a few passes settle it.
  for (int pass = 0; pass < 5; ++pass) {
    std::string again = Normaliser(folded).run();
    if (again == folded) break;
    folded = std::move(again);
  }
  return folded;
}

}  // namespace dlo
