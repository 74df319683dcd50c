#include <algorithm>
#include <array>

#include "dlo/core/byte_class.h"
#include "dlo/core/encoding.h"
#include "dlo/core/fingerprint.h"
#include "dlo/core/normalise_tables.h"
#include "dlo/core/normalise_times.h"

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

using namespace byte_class;  // NOLINT: made for this file and its like

/// The mark that stands at `at`; empty if there is none.
std::string_view mark_at(std::string_view text, std::size_t at) {
  for (const std::string_view known : marks) {
    if (text.substr(at, known.size()) == known) return known;
  }
  return {};
}

/// Where the last mark of `text` ends if it is this one and nothing but what sets apart the items
/// of a list follows it; npos otherwise. Lists of alike things count as one.
std::size_t end_of_last(std::string_view text, std::string_view mark) {
  for (const std::string_view between : {", ", ",", " ", "; ", ""}) {
    if (!text.ends_with(between)) continue;
    const std::size_t end = text.size() - between.size();
    if (text.substr(0, end).ends_with(mark)) return end;
  }
  return npos;
}

/// Whether a pass would certainly change nothing: words without digits, one blank between them,
/// marks that do not repeat, and nothing with which something to fold begins. May say no when it is
/// so.
bool is_settled(std::string_view text) {
  if (text.size() > limit) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_inert(c)) continue;
    if (c == ' ') {
      if (i == 0 || i + 1 == text.size() || text[i - 1] == ' ') return false;
    } else if (c == '-') {  // a UUID may be without digits
      if (i >= 8 && std::ranges::all_of(text.substr(i - 8, 8), is_hex)) return false;
    } else if (c == '<') {
      const std::string_view mark = mark_at(text, i);
      if (mark.empty()) continue;
      if (end_of_last(text.substr(0, i), mark) != npos) return false;
      i += mark.size() - 1;
    } else {
      return false;
    }
  }
  return true;
}

class Normaliser {
 public:
  explicit Normaliser(std::string_view text) : in_(text), look_{text} { out_.reserve(text.size()); }

  std::string run() {
    while (at_ < in_.size() && !full_) step();
    while (out_.ends_with(' ')) out_.pop_back();
    return std::move(out_);
  }

 private:
  [[nodiscard]] char peek(std::size_t i) const noexcept { return look_.peek(i); }
  [[nodiscard]] std::string_view slice(std::size_t from, std::size_t to) const noexcept {
    return look_.slice(from, to);
  }
  template <typename Test>
  [[nodiscard]] std::size_t skip(std::size_t from, Test test) const noexcept {
    return look_.skip(from, test);
  }
  [[nodiscard]] bool in_word(std::size_t i) const noexcept { return is_beside(peek(i)); }

  void step() {
    const char c = in_[at_];
    if (is_gap(c)) return gap();
    const bool starts_word = at_ == 0 || !in_word(at_ - 1);
    if (starts_word && (is_alnum(c) || c == ':') && (date() || clock() || uuid() || address6()))
      return;
    if (is_digit(c)) return digits(starts_word);
    if (is_alpha(c)) return word();
    if (c == '<' && mark()) return;
    if ((c == '"' || c == '\'' || c == '`') && quoted()) return;
    if (starts_word && (c == '/' || c == '\\') && scratch_path()) return;
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
    if (const std::size_t end = end_of_last(out_, token); end != npos) {
      out_.resize(end);
    } else {
      put(token);
    }
  }

  void gap() {
    at_ = skip(at_, is_gap);
    if (!out_.empty() && !out_.ends_with(' ')) put(" ");
    if (after_code_ > 0) --after_code_;
  }

  bool mark() {
    const std::string_view known = mark_at(in_, at_);
    if (known.empty()) return false;
    fold(known, at_ + known.size());
    return true;
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
    if (!units.has(name) || (i > end && name.size() == 1 && name != "s")) return npos;
    while (is_digit(peek(unit))) {
      const std::size_t more = skip(unit, [](char c) { return is_digit(c) || c == '.'; });
      const std::size_t next = skip(more, is_alpha);
      if (!units.has(slice(more, next))) return npos;
      unit = next;
    }
    return in_word(unit) ? npos : unit;
  }

  // --- words

  void word() {
    const std::size_t letters = skip(at_, is_alpha);
    const std::size_t end = skip(letters, is_alnum);
    const std::string_view text = slice(at_, end);
    if (has_at_sign_ && at_sign(end)) return;
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
        std::ranges::all_of(text.substr(2), is_hex)) {
      return after_code_ > 0 ? keep(end) : fold(id_mark, end);
    }
    if (letters == end) {
      after_code_ = codes.has(text) ? 3 : 0;
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
    if (peek(at_ + groups[0]) != '-') return false;
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
    if (peek(skip(at_, is_hex)) != ':') return false;
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

  /// Nearly every word is through after the first question.
  bool date() {
    const std::size_t end = may_be_date(look_, at_) ? date_end(look_, at_) : npos;
    if (end == npos) return false;
    fold(time_mark, end);
    return true;
  }
  bool clock() {
    const std::size_t end = is_digit(in_[at_]) ? clock_end(look_, at_, true) : npos;
    if (end == npos) return false;
    fold(time_mark, end);
    return true;
  }

  std::string_view in_;
  TextLook look_;
  std::string out_;
  std::size_t at_ = 0;
  int after_code_ = 0;  // numbers are kept while this is not zero
  bool full_ = false;
  std::array<bool, 3> unclosed_{};
  std::size_t email_checked_ = npos;
  bool has_at_sign_ = in_.find('@') != npos;
};

}  // namespace

std::string normalise(std::string_view text) {
  std::size_t cut = std::min(text.size(), limit);
  while (cut > 0 && cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80) {
    --cut;
  }
  std::string folded = to_utf8(text.substr(0, cut));
  // A fold changes what its neighbours stand beside; a few passes settle it.
  for (int pass = 0; pass < 5 && !is_settled(folded); ++pass) {
    std::string again = Normaliser(folded).run();
    if (again == folded) break;
    folded = std::move(again);
  }
  return folded;
}

}  // namespace dlo
