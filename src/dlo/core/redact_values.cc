// What stands behind a name: header values, cookies, and values of every notation.
#include "dlo/core/redact_scanner.h"
#include "dlo/core/redact_tables.h"
#include "dlo/core/spelling.h"

namespace dlo::redact_look {

namespace tables = redact_tables;

bool Scanner::scheme_token(std::size_t end, std::string_view name) {
  if (peek(end) != ' ' || !is_one_of(name, tables::token_schemes)) return false;
  const std::size_t from = skip(end, is_blank);
  const std::size_t to = without_full_stop(from, skip(from, is_token68));
  if (peek(to) == '*') return false;  // the rest of it is hidden already
  if (!looks_like_credentials(slice(from, to))) return false;
  hide(from, to);
  return true;
}

void Scanner::header_value(std::size_t begin, std::size_t end) {
  const std::size_t from = value_start(begin, end);
  if (from == npos) return spoken_header(end);
  const std::size_t start = from + (is_quote(peek(from)) ? 1 : 0);
  const std::size_t scheme_end = skip(start, is_word);
  const std::string_view scheme = slice(start, scheme_end);
  at_ = start;
  if (is_one_of(scheme, tables::list_schemes) && is_blank(peek(scheme_end))) {
    const std::size_t rest = skip(scheme_end, is_blank);
    const char quote = is_quote(peek(from)) ? peek(from) : enclosing_quote(begin);
    const std::size_t to = skip(rest, [&](char c) { return c != '\n' && c != '\r' && c != quote; });
    if (!is_masked(slice(rest, to))) hide(rest, to);
    return;
  }
  const bool has_scheme = is_blank(peek(scheme_end)) && (is_one_of(scheme, tables::token_schemes) ||
                                                         is_one_of(scheme, tables::header_schemes));
  header_token(has_scheme ? skip(scheme_end, is_blank) : start, has_scheme);
}

void Scanner::spoken_header(std::size_t end) {
  constexpr std::string_view header = " header";
  constexpr std::size_t shortest = 8;
  std::size_t from = slice_is(end, header) ? end + header.size() : end;
  const auto verb = std::ranges::find_if(
      tables::header_verbs, [&](std::string_view each) { return slice_is(from, each); });
  if (verb != tables::header_verbs.end()) {
    from += verb->size();
  } else if (from > end) {
    from = value_start(npos, from);
  } else {
    return;
  }
  if (from == npos) return;
  if (is_quote(peek(from))) ++from;
  const std::size_t token = behind_scheme(from);
  if (token > from && skip(token, is_token68) >= token + shortest) header_token(token, true);
}

void Scanner::header_token(std::size_t from, bool behind_scheme) {
  constexpr std::size_t longest_word = 16;
  const std::size_t to = without_full_stop(from, skip(from, is_token68));
  const std::string_view token = slice(from, to);
  if (is_masked(token) || says_nothing(token) || peek(to) == '*' || is_header_prose(token)) return;
  if (token.ends_with('=') && is_quote(peek(to))) return;  // realm="x"
  // More words behind it: perhaps a sentence. Nothing behind it: a value.
  const bool alone = !is_blank(peek(to)) || !is_alnum(peek(skip(to, is_blank)));
  const bool secret = behind_scheme ? alone || token.size() >= longest_word || is_no_word(token)
                                    : is_jumbled(token) || (alone && token.size() > longest_word &&
                                                            std::ranges::all_of(token, is_lower));
  if (secret || looks_random(token)) hide(from, to);
}

void Scanner::cookie(std::size_t end) {
  std::size_t i = value_start(npos, end);
  if (i == npos) return;
  if (is_quote(peek(i))) ++i;
  while (true) {
    i = skip(i, is_blank);
    const std::size_t name_end = skip(i, [](char c) { return is_word(c) || c == '.'; });
    if (name_end == i) return;
    if (peek(name_end) != '=') {
      if (peek(name_end) != ';') return;
      i = name_end + 1;  // HttpOnly;
      continue;
    }
    const std::size_t to = skip(
        name_end + 1, [](char c) { return !is_space(c) && c != ';' && c != ',' && !is_quote(c); });
    const std::string_view name = slice(i, name_end);
    if (is_one_of(name, tables::cookie_attributes)) {
      at_ = to;
    } else if (!is_masked(slice(name_end + 1, to))) {
      hide(name_end + 1, to);
    }
    i = skip(std::max(at_, to), is_blank);
    if (peek(i) != ';') return;
    ++i;
  }
}

std::size_t Scanner::value_start(std::size_t begin, std::size_t end) const noexcept {
  std::size_t i = end;
  if (peek(i) == '>' && is_tag(begin)) return i + 1;
  while (peek(i) == '\\') ++i;
  if (is_quote(peek(i)) || (peek(i) == ']' && i == end)) ++i;
  i = skip(i, is_blank);
  const std::size_t separator = i;
  if (peek(i) == '=' || peek(i) == ':') {
    ++i;
    if (slice_is(i, ": ")) ++i;  // `userPassword:: aHVudGVyMg==`, as directories write it
    if (text_[separator] == ':' && (peek(i) == ':' || slice_is(i, "//"))) return npos;
    if (peek(i) == '=' || (text_[separator] == '=' && peek(i) == '>')) ++i;
  } else if (peek(i) == '%' && peek(i + 1) == '3' &&
             (ascii_lower(peek(i + 2)) == 'd' || ascii_lower(peek(i + 2)) == 'a')) {
    i += 3;
  } else {
    return npos;
  }
  return skip(i, is_blank);
}

bool Scanner::is_flag(std::size_t begin) const noexcept {
  return slice_is(begin, "--");
}

Trust Scanner::trust_at(std::size_t begin, std::size_t end) const noexcept {
  const std::string_view name = slice(begin, end);
  if (is_flag(begin) && peek(end) == '=' && same(name, "--token")) return Trust::likely;
  return trust_in(name, slice(0, begin));
}

void Scanner::named_value(std::size_t begin, std::size_t end, Trust trust) {
  if (element(begin, end, trust)) return;
  const std::size_t from =
      is_flag(begin) && is_blank(peek(end)) ? skip(end, is_blank) : value_start(begin, end);
  if (from == npos) {
    if (trust < Trust::likely || !paired_value(end, trust)) spoken_value(begin, end, trust);
    return;
  }
  std::size_t escapes = from;
  while (peek(escapes) == '\\') ++escapes;
  if (is_quote(peek(escapes))) {
    quoted_value(from, escapes, trust);
  } else if (peek(from) == '\n' || peek(from) == '\r') {
    if (trust >= Trust::likely) next_line_value(from);
  } else if (trust < Trust::likely || (!block_value(from) && !braced_value(end, from))) {
    bare_value(begin, end, from, trust);
  }
}

void Scanner::quoted_value(std::size_t from, std::size_t quote_at, Trust trust) {
  const std::size_t depth = quote_at - from;
  const char quote = text_[quote_at];
  std::size_t backslashes = 0;
  std::size_t i = quote_at + 1;
  for (; i < text_.size() && text_[i] != '\n'; ++i) {
    const bool doubled = depth == 0 && i > quote_at + 1 && peek(i + 1) == quote;
    if (text_[i] == quote && backslashes <= depth && !doubled) break;
    if (text_[i] == quote && doubled) ++i;  // `'it''s'`: one value
    backslashes = text_[i] == '\\' ? backslashes + 1 : 0;
  }
  judge(quote_at + 1, std::max(quote_at + 1, i - std::min(backslashes, depth)), trust);
}

void Scanner::bare_value(std::size_t begin, std::size_t end, std::size_t from, Trust trust) {
  const char first = peek(from);
  if (first == '{' || first == '[' || is_space(first)) return;  // its members speak for themselves
  const bool encoded = slice(end, from).find('%') != npos;
  if (trust == Trust::likely) from = behind_scheme(from);
  const std::size_t semicolon = next_semicolon(from);
  const std::size_t to = skip(from, [&](char c) {
    if (is_space(c) || is_quote(c) || c == ';' || c == '<') return false;
    if (encoded && c == '%') return false;
    // In a list set apart by `;` these are part of the value.
    return semicolon != npos || (c != '&' && c != ',' && c != ')' && c != ']' && c != '}');
  });
  const std::size_t stop = without_full_stop(from, to);
  if (is_directory(slice(begin, end), slice(from, stop))) return;
  judge(from, stop, trust);
}

std::size_t Scanner::behind_scheme(std::size_t from) const noexcept {
  const std::size_t end = skip(from, is_word);
  const bool named = is_blank(peek(end)) && is_one_of(slice(from, end), tables::token_schemes);
  return named ? skip(end, is_blank) : from;
}

void Scanner::judge(std::size_t from, std::size_t to, Trust trust) {
  const std::string_view value = slice(from, to);
  at_ = std::max(at_, from);
  if (is_masked(value) || says_nothing(value)) return;
  if (trust == Trust::session) {
    trust = value.size() < tables::shortest_session ? Trust::doubtful : Trust::likely;
  }
  if (trust == Trust::doubtful ? !looks_random(value) : is_prose(value, peek(to), trust)) return;
  hide(from, to);
}

bool Scanner::is_directory(std::string_view name, std::string_view value) noexcept {
  const std::string_view tail = name.substr(name.size() < 3 ? 0 : name.size() - 3);
  return same(tail, "pwd") && (value.starts_with('/') || value.substr(0, 3).ends_with(":\\"));
}

std::size_t Scanner::next_semicolon(std::size_t from) noexcept {
  if (from >= searched_to_) {
    searched_to_ = skip(from, [](char c) { return !is_space(c) && !is_quote(c) && c != ';'; });
  }
  return peek(searched_to_) == ';' ? searched_to_ : npos;
}

std::size_t Scanner::without_full_stop(std::size_t from, std::size_t to) const noexcept {
  const bool sentence_ends = to == text_.size() || is_space(text_[to]);
  return sentence_ends && to > from + 1 && text_[to - 1] == '.' ? to - 1 : to;
}

void Scanner::sql_literal(std::size_t end) {
  const std::size_t from = skip(end, is_blank);
  if (peek(from) == '\'') quoted_value(from, from, Trust::certain);
}

std::string_view Scanner::identified(std::size_t by) const noexcept {
  if (by < 11 || text_[by - 1] != ' ') return {};
  return slice(by - 11, by - 1);
}

char Scanner::enclosing_quote(std::size_t begin) const noexcept {
  return begin > 0 && is_quote(text_[begin - 1]) ? text_[begin - 1] : '\n';
}

}  // namespace dlo::redact_look
