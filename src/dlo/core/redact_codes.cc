// Secrets that are numbers, and those that only programs of one maker write.
#include <array>

#include "dlo/core/encoding.h"
#include "dlo/core/redact_scanner.h"
#include "dlo/core/redact_tables.h"

namespace dlo::redact_look {

namespace tables = redact_tables;

namespace {

/// No login and no password is longer: what is looked for ahead stays cheap.
constexpr std::size_t far = 512;

/// The check that ends the number of every card.
bool is_card_number(std::string_view digits) noexcept {
  int sum = 0;
  bool twice = false;
  for (auto at = digits.rbegin(); at != digits.rend(); ++at) {
    if (!is_digit(*at)) continue;
    const int value = (*at - '0') * (twice ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
    twice = !twice;
  }
  return sum % 10 == 0;
}

const tables::CodeName* code_of(std::string_view name, const FoldedName& folded) noexcept {
  const std::string_view own = folded.view();
  for (const tables::CodeName& each : tables::codes) {
    if (!own.ends_with(each.name)) continue;
    // `spin` is no PIN.
    const bool long_enough = each.name.size() >= tables::shortest_whole_code;
    if (long_enough || same(name.substr(last_word(name)), each.name)) return &each;
  }
  return nullptr;
}

}  // namespace

// --- codes and cards

std::size_t Scanner::digits_end(std::size_t from, std::size_t& count) const noexcept {
  count = 0;
  std::size_t i = from;
  while (is_digit(peek(i))) {
    ++count;
    ++i;
    const bool joined = (peek(i) == ' ' || peek(i) == '-') && is_digit(peek(i + 1));
    if (joined && count % 4 == 0 && count < tables::longest_card) ++i;
  }
  return i;
}

/// Only the number: past a quote, and none that is a part of something else.
bool Scanner::hide_digits(std::size_t from, const tables::CodeName& code, bool spoken) {
  while (peek(from) == '\\') ++from;
  if (is_quote(peek(from))) ++from;
  std::size_t count = 0;
  std::size_t to = skip(from, is_digit);
  if (code.least >= tables::shortest_card) {
    to = digits_end(from, count);
  } else {
    count = to - from;
  }
  const bool goes_on = is_word(peek(to)) || (peek(to) == '.' && is_digit(peek(to + 1)));
  if (goes_on || count < code.least || count > code.most) return false;
  if (spoken && code.least >= tables::shortest_card && !is_card_number(slice(from, to))) {
    return false;
  }
  hide(from, to);
  return true;
}

bool Scanner::code_value(std::size_t begin, std::size_t end, const FoldedName& folded) {
  const std::string_view name = slice(begin, end);
  const bool is_code = folded.view() == "code" || folded.view() == "number";
  if (!is_code && !folded.ends_like(tables::code_endings)) return false;
  const tables::CodeName* code = code_of(name, folded);
  if (code == nullptr && is_code) {  // `security code: 123`, `card number 4111...`
    const std::string_view owner = word_before(begin);
    if (folded.view() == "code" && is_one_of(owner, tables::code_owners)) code = &tables::a_code;
    if (folded.view() == "number" && same(owner, "card")) code = &tables::a_card;
  }
  if (code == nullptr) return folded.view() == "code" && sign_in_code(begin, end);
  if (const std::size_t from = value_start(begin, end); from != npos) {
    return hide_digits(from, *code, false);
  }
  if (peek(end) != ' ') return false;
  std::size_t from = end + 1;
  for (const std::string_view verb : {"is ", "was "}) {
    if (slice_is(from, verb)) from += verb.size();
  }
  // A pin of a chip has a number, too; a PIN is written like this.
  const bool may_be_chip = same(name, "pin") && name != "PIN";
  return !may_be_chip && hide_digits(from, *code, true);
}

// --- what a maker's programs write

bool Scanner::dotted_key(std::size_t begin, std::size_t end) {
  constexpr std::size_t shortest = 20;
  if (peek(end) != '.' || end - begin > 4) return false;
  const std::string_view mark = slice(begin, end);
  if (std::ranges::find(tables::dotted_keys, mark) == tables::dotted_keys.end()) return false;
  std::size_t to = skip(end + 1, is_word);
  std::size_t longest = to - end - 1;
  for (int parts = 0; parts < 2 && peek(to) == '.' && is_word(peek(to + 1)); ++parts) {
    const std::size_t next = skip(to + 1, is_word);
    longest = std::max(longest, next - to - 1);
    to = next;
  }
  if (longest < shortest) return false;  // `hvs.example.com`
  hide(begin, to);
  return true;
}

/// `1//0gLu...`, with which Google's programs get new tokens. No other mark of a key has slashes.
bool Scanner::refresh_key(std::size_t begin, std::size_t end) {
  constexpr std::size_t shortest = 40;
  if (slice(begin, end) != "1" || !slice_is(end, "//0")) return false;
  const std::size_t to = skip(end + 2, is_word);
  if (to - end - 2 < shortest) return false;
  hide(begin, to);
  return true;
}

/// `AUTH PLAIN AGJvYgBodW50ZXIy`, as a mail server is told.
bool Scanner::mail_login(std::size_t begin, std::size_t end) {
  if (slice(begin, end) != "AUTH" || peek(end) != ' ') return false;
  const std::size_t way_end = skip(end + 1, is_word);
  if (peek(way_end) != ' ' || !is_one_of(slice(end + 1, way_end), tables::mail_logins))
    return false;
  const std::size_t from = way_end + 1;
  const std::size_t to = without_full_stop(from, skip(from, is_token68));
  const std::string_view value = slice(from, to);
  if (!from_base64(value) || (!looks_random(value) && !is_no_word(value))) return false;
  hide(from, to);
  return true;
}

/// `AUTH hunter2`, `AUTH default hunter2`, as Redis is told. How mail servers are asked to sign in
/// is written in capitals.
bool Scanner::cache_login(std::size_t begin, std::size_t end) {
  if (slice(begin, end) != "AUTH" || peek(end) != ' ') return false;
  std::size_t from = end + 1;
  if (slice_is(from, "default ")) from += 8;
  const std::size_t to = skip(from, [](char c) { return !is_space(c); });
  if (std::ranges::any_of(slice(from, to), is_lower)) lone_token(from);
  return copied_ > end;
}

bool Scanner::bot_key(std::size_t begin, std::size_t end) {
  constexpr std::size_t length = 35;
  if (peek(end) != ':' || !is_digit(text_[end - 1]) || !slice_is(end + 1, "AA")) return false;
  const std::size_t to = skip(end + 1, is_word);
  if (to - end - 1 != length || end - begin < 8) return false;
  hide(end + 1, to);
  return true;
}

bool Scanner::sign_in_code(std::size_t begin, std::size_t end) {
  const bool is_parameter = begin > 0 && (text_[begin - 1] == '?' || text_[begin - 1] == '&');
  if (!is_parameter || peek(end) != '=') return false;
  const std::size_t to = skip(end + 1, [](char c) { return is_token68(c) || c == '%'; });
  if (!looks_random(slice(end + 1, to))) return false;
  hide(end + 1, to);
  return true;
}

/// `jdbc:oracle:thin:scott/tiger@host`, `sqlplus scott/tiger@orders`
bool Scanner::oracle_login(std::size_t begin, std::size_t end) {
  constexpr std::string_view maker = "oracle:";
  const std::string_view word = slice(begin, end);
  std::size_t from = end + 1;
  if (is_one_of(word, tables::oracle_drivers)) {
    if (begin < maker.size() || !slice_is(begin - maker.size(), maker) || peek(end) != ':') {
      return false;
    }
  } else if (is_one_of(word, tables::oracle_programs) && peek(end) == ' ') {
    while (peek(from) == '-')
      from = skip(skip(from, [](char c) { return !is_space(c); }), is_blank);
  } else {
    return false;
  }
  const std::size_t length =
      text_.substr(std::min(from, text_.size()), far).find_first_of("@ \t\r\n\"'`");
  if (length == npos) return false;
  const std::size_t to = from + length;
  const std::size_t slash = slice(from, to).find('/');
  if (peek(to) != '@' || slash == npos || slash == 0) return false;
  if (!is_masked(slice(from + slash + 1, to))) hide(from + slash + 1, to);
  return true;
}

void Scanner::other_half(std::size_t end) {
  constexpr std::size_t length = 40;
  const std::size_t from =
      skip(end, [](char c) { return is_blank(c) || c == ':' || c == '/' || c == ','; });
  std::size_t to = from;  // one too many is enough to know: text made of such keys stays linear
  while (to - from <= length && (is_alnum(peek(to)) || peek(to) == '/' || peek(to) == '+')) ++to;
  const std::string_view half = slice(from, to);
  if (half.size() != length || !std::ranges::any_of(half, is_lower)) return;
  if (std::ranges::any_of(half, is_upper)) hide(from, to);  // a digest has no capitals
}

// --- what passwords are compared with

bool Scanner::crypt_hash() {
  constexpr std::size_t longest_mark = 16;
  const std::size_t mark = at_ + 1;
  const std::size_t mark_end = mark + std::min(text_.substr(mark, longest_mark).find('$'), far);
  if (peek(mark_end) != '$' || !is_one_of(slice(mark, mark_end), tables::crypt_marks)) return false;
  const std::size_t to =
      without_full_stop(mark_end, skip(mark_end, [](char c) {
                          return is_alnum(c) || std::string_view("$./+=,-_").find(c) != npos;
                        }));
  std::size_t stop = to;
  while (stop > mark_end && (text_[stop - 1] == ',' || text_[stop - 1] == '.')) --stop;
  if (stop - mark_end < tables::shortest_crypt) return false;
  hide(at_, stop);
  return true;
}

bool Scanner::directory_hash() {
  const std::size_t mark_end = skip(at_ + 1, [](char c) { return is_alnum(c); });
  if (peek(mark_end) != '}' || !is_one_of(slice(at_ + 1, mark_end), tables::directory_marks)) {
    return false;
  }
  const std::size_t to = skip(mark_end + 1, [](char c) { return is_token68(c) || c == '$'; });
  if (to - mark_end <= tables::shortest_crypt) return false;
  hide(mark_end + 1, to);
  return true;
}

// --- values in blocks and braces

/// `password: |` and the value in the lines below, as YAML has it.
bool Scanner::block_value(std::size_t from) {
  if (peek(from) != '|' && peek(from) != '>') return false;
  std::size_t line = skip(from + 1, [](char c) { return is_digit(c) || c == '-' || c == '+'; });
  line = skip(line, is_blank);
  if (peek(line) == '\r') ++line;
  if (peek(line) != '\n') return false;
  const std::size_t value = skip(++line, is_blank);
  const std::size_t indent = value - line;
  std::size_t to = value;
  while (indent > 0) {
    to = skip(to, [](char c) { return c != '\n'; });
    const std::size_t next = skip(std::min(to + 1, text_.size()), is_blank);
    if (next >= text_.size() || next - (to + 1) < indent || is_space(text_[next])) break;
    to = next;
  }
  if (to > value && text_[to - 1] == '\r') --to;
  if (!is_masked(slice(value, to))) hide(value, to);
  return true;
}

/// `Pwd={se;cret}`, as ODBC has it. Members of an object speak for themselves.
bool Scanner::braced_value(std::size_t end, std::size_t from) {
  if (peek(from) != '{' || slice(end, from).find('=') == npos) return false;
  const std::size_t length = text_.substr(from + 1, far).find_first_of("}\n\"'`");
  if (length == npos) return false;
  const std::size_t to = from + 1 + length;
  const std::string_view value = slice(from + 1, to);
  if (peek(to) != '}' || value.find_first_of("=:") != npos) return false;
  if (is_masked(value) || says_nothing(value)) return false;
  hide(from + 1, to);
  return true;
}

}  // namespace dlo::redact_look
