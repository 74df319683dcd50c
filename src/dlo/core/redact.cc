#include "dlo/core/redact.h"

#include <algorithm>

#include "dlo/core/redact_look.h"
#include "dlo/core/redact_tables.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

using namespace redact_look;  // NOLINT: made for this file
namespace tables = redact_tables;
constexpr auto npos = std::string_view::npos;

/// One pass over the text. Everything is looked at a bounded number of times: positions found by
/// searching ahead are remembered, so no input makes it slow.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { out_.reserve(text.size()); }

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '-' && pem_key()) continue;
      if (c == ':' && url_user()) continue;
      if (is_word(c) && (at_ == 0 || !is_word(text_[at_ - 1]))) {
        word();
      } else {
        ++at_;
      }
    }
    out_.append(text_.substr(copied_));
    return std::move(out_);
  }

 private:
  [[nodiscard]] char peek(std::size_t i) const noexcept {
    return i < text_.size() ? text_[i] : '\0';
  }
  [[nodiscard]] std::string_view slice(std::size_t from, std::size_t to) const noexcept {
    return text_.substr(from, to - from);
  }
  template <typename Test>
  [[nodiscard]] std::size_t skip(std::size_t from, Test test) const noexcept {
    while (from < text_.size() && test(text_[from])) ++from;
    return from;
  }

  /// Replaces [from, to) and goes on behind it.
  void hide(std::size_t from, std::size_t to) {
    out_.append(text_.substr(copied_, from - copied_));
    out_.append("***");
    copied_ = at_ = to;
  }

  // --- words: names with a value, marked keys, JWTs, schemes

  void word() {
    const std::size_t begin = at_;
    std::size_t end = skip(begin, is_word);
    if (const std::size_t dashes = slice(begin, end).find("-----"); dashes != npos) {
      end = begin + std::max<std::size_t>(dashes, 1);  // a PEM mark may follow
    }
    at_ = end;
    if (jwt(begin, end) || marked_key(begin, end)) return;
    if (end - begin > 64) return;
    const std::string_view name = slice(begin, end);
    const FoldedName folded(name);
    if (folded.is(tables::authorization)) {
      header_value(begin, end);
    } else if (folded.is(tables::cookies)) {
      cookie(end);
    } else if (folded.ends_like(tables::telling)) {
      named_value(begin, end, Trust::certain);
    } else if (folded.ends_like(tables::suspicious)) {
      if (!scheme_token(end, name)) named_value(begin, end, trust_at(begin, end));
    } else if (folded.view() == "by" && same(identified(begin), "identified")) {
      sql_literal(end);
    } else {
      scheme_token(end, name);
    }
  }

  bool jwt(std::size_t begin, std::size_t end) {
    if (end - begin < 10 || slice(begin, begin + 3) != "eyJ" || peek(end) != '.') return false;
    const std::size_t second = skip(end + 1, is_word);
    if (second - end < 5 || peek(second) != '.') return false;
    hide(begin, skip(second + 1, is_word));
    return true;
  }

  bool marked_key(std::size_t begin, std::size_t end) {
    const std::string_view word = slice(begin, end);
    if (word.size() < tables::shortest_marked_key) return false;
    for (const tables::MarkedKey& key : tables::marked_keys) {
      if (!word.starts_with(key.prefix)) continue;
      const std::string_view rest = word.substr(key.prefix.size());
      if (rest.size() < key.least || (key.exact && rest.size() != key.least)) continue;
      const bool fits = std::ranges::all_of(rest, [&](char c) {
        if (key.alphabet == tables::Alphabet::upper_digits) return is_upper(c) || is_digit(c);
        return key.alphabet == tables::Alphabet::word ? is_word(c) : is_alnum(c);
      });
      if (!fits) continue;
      hide(begin, end);
      return true;
    }
    return false;
  }

  /// `Bearer abc123`, wherever it stands.
  bool scheme_token(std::size_t end, std::string_view name) {
    if (peek(end) != ' ' || !is_one_of(name, tables::token_schemes)) return false;
    const std::size_t from = skip(end, is_blank);
    const std::size_t to = without_full_stop(from, skip(from, is_token68));
    if (peek(to) == '*') return false;  // the rest of it is hidden already
    if (!looks_like_credentials(slice(from, to))) return false;
    hide(from, to);
    return true;
  }

  /// `Authorization: <scheme> <credentials>`
  void header_value(std::size_t begin, std::size_t end) {
    const std::size_t from = value_start(begin, end);
    if (from == npos) return;
    const std::size_t start = from + (is_quote(peek(from)) ? 1 : 0);
    const std::size_t scheme_end = skip(start, is_word);
    const std::string_view scheme = slice(start, scheme_end);
    at_ = start;
    if (is_one_of(scheme, tables::list_schemes) && is_blank(peek(scheme_end))) {
      const std::size_t rest = skip(scheme_end, is_blank);
      const char quote = is_quote(peek(from)) ? peek(from) : enclosing_quote(begin);
      const std::size_t to =
          skip(rest, [&](char c) { return c != '\n' && c != '\r' && c != quote; });
      if (!is_masked(slice(rest, to))) hide(rest, to);
      return;
    }
    if (is_one_of(scheme, tables::token_schemes)) return;  // the main loop meets it next
    const std::size_t to = skip(start, is_token68);
    if (looks_random(slice(start, to))) hide(start, to);
  }

  /// `Cookie: name=value; name=value`: the values go.
  void cookie(std::size_t end) {
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
      const std::size_t to = skip(name_end + 1, [](char c) {
        return !is_space(c) && c != ';' && c != ',' && !is_quote(c);
      });
      const std::string_view name = slice(i, name_end);
      if (is_one_of(name, tables::cookie_attributes)) {
        at_ = to;
      } else if (!is_masked(slice(name_end + 1, to))) {
        hide(name_end + 1, to);
      }
      i = skip(to, is_blank);
      if (peek(i) != ';') return;
      ++i;
    }
  }

  // --- name and value

  /// A name and where its value begins, past quotes, blanks and `=`, `:`, `=>` or `%3D`; npos if
  /// no value follows.
  [[nodiscard]] std::size_t value_start(std::size_t begin, std::size_t end) const noexcept {
    std::size_t i = end;
    if (begin != npos && begin > 0 && peek(begin - 1) == '<' && peek(i) == '>') return i + 1;
    while (peek(i) == '\\') ++i;
    if (is_quote(peek(i)) || (peek(i) == ']' && i == end)) ++i;
    i = skip(i, is_blank);
    const std::size_t separator = i;
    if (peek(i) == '=' || peek(i) == ':') {
      ++i;
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
  [[nodiscard]] bool slice_is(std::size_t from, std::string_view expected) const noexcept {
    return text_.substr(std::min(from, text_.size()), expected.size()) == expected;
  }
  /// The dashes of `--password` belong to the word.
  [[nodiscard]] bool is_flag(std::size_t begin) const noexcept { return slice_is(begin, "--"); }

  [[nodiscard]] Trust trust_at(std::size_t begin, std::size_t end) const noexcept {
    const std::string_view name = slice(begin, end);
    if (is_flag(begin) && peek(end) == '=' && same(name, "--token")) return Trust::likely;
    return trust_in(name, slice(0, begin));
  }

  void named_value(std::size_t begin, std::size_t end, Trust trust) {
    const std::size_t from =
        is_flag(begin) && is_blank(peek(end)) ? skip(end, is_blank) : value_start(begin, end);
    if (from == npos) {
      if (trust == Trust::certain && peek(end) == ' ' && peek(end + 1) == '\'') sql_literal(end);
      return;
    }
    std::size_t escapes = from;
    while (peek(escapes) == '\\') ++escapes;
    if (is_quote(peek(escapes))) {
      quoted_value(from, escapes, trust);
    } else if (begin > 0 && text_[begin - 1] == '<' && peek(end) == '>') {
      judge(from, skip(from, [](char c) { return c != '<'; }), trust);
    } else {
      bare_value(begin, end, from, trust);
    }
  }

  /// Up to the quote that ends it: the same quote behind as many backslashes, or the line's end.
  void quoted_value(std::size_t from, std::size_t quote_at, Trust trust) {
    const std::size_t depth = quote_at - from;
    const char quote = text_[quote_at];
    std::size_t backslashes = 0;
    std::size_t i = quote_at + 1;
    for (; i < text_.size() && text_[i] != '\n'; ++i) {
      if (text_[i] == quote && backslashes <= depth) break;
      backslashes = text_[i] == '\\' ? backslashes + 1 : 0;
    }
    judge(quote_at + 1, std::max(quote_at + 1, i - std::min(backslashes, depth)), trust);
  }

  void bare_value(std::size_t begin, std::size_t end, std::size_t from, Trust trust) {
    const char first = peek(from);
    if (first == '{' || first == '[' || is_space(first))
      return;  // its members speak for themselves
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

  /// `x-auth-token: Bearer abc`: where `abc` begins.
  [[nodiscard]] std::size_t behind_scheme(std::size_t from) const noexcept {
    const std::size_t end = skip(from, is_word);
    const bool named = is_blank(peek(end)) && is_one_of(slice(from, end), tables::token_schemes);
    return named ? skip(end, is_blank) : from;
  }

  void judge(std::size_t from, std::size_t to, Trust trust) {
    const std::string_view value = slice(from, to);
    at_ = std::max(at_, from);
    if (is_masked(value) || says_nothing(value)) return;
    if (trust == Trust::doubtful ? !looks_random(value) : is_prose(value, peek(to), trust)) return;
    hide(from, to);
  }

  /// PWD=/home/app is where a process stood, not a password.
  [[nodiscard]] static bool is_directory(std::string_view name, std::string_view value) noexcept {
    const std::string_view tail = name.substr(name.size() < 3 ? 0 : name.size() - 3);
    return same(tail, "pwd") && (value.starts_with('/') || value.substr(0, 3).ends_with(":\\"));
  }

  /// The `;` that ends a value before any white space or quote does; npos if there is none.
  [[nodiscard]] std::size_t next_semicolon(std::size_t from) noexcept {
    if (from >= searched_to_) {
      searched_to_ = skip(from, [](char c) { return !is_space(c) && !is_quote(c) && c != ';'; });
    }
    return peek(searched_to_) == ';' ? searched_to_ : npos;
  }

  [[nodiscard]] std::size_t without_full_stop(std::size_t from, std::size_t to) const noexcept {
    const bool sentence_ends = to == text_.size() || is_space(text_[to]);
    return sentence_ends && to > from + 1 && text_[to - 1] == '.' ? to - 1 : to;
  }

  /// `IDENTIFIED BY 'x'`, `PASSWORD 'x'`
  void sql_literal(std::size_t end) {
    const std::size_t from = skip(end, is_blank);
    if (peek(from) == '\'') quoted_value(from, from, Trust::certain);
  }
  [[nodiscard]] std::string_view identified(std::size_t by) const noexcept {
    if (by < 11 || text_[by - 1] != ' ') return {};
    return slice(by - 11, by - 1);
  }
  [[nodiscard]] char enclosing_quote(std::size_t begin) const noexcept {
    return begin > 0 && is_quote(text_[begin - 1]) ? text_[begin - 1] : '\n';
  }

  // --- URLs and PEM

  /// `scheme://user:password@host`: all that stands before the @.
  bool url_user() {
    if (!slice_is(at_, "://") || at_ == 0 || !is_alnum(text_[at_ - 1])) return false;
    const std::size_t from = at_ + 3;
    at_ = from;
    const auto in_authority = [](char c) {
      return !is_space(c) && !is_quote(c) && c != '/' && c != '?' && c != '#' && c != '<' &&
             c != '>';
    };
    const std::size_t end = skip(from, in_authority);
    std::size_t at = slice(from, end).rfind('@');
    if (at == npos) {
      // A raw slash inside the password: what looks like a port is none.
      const std::size_t colon = slice(from, end).rfind(':');
      if (colon == npos || text_[end - 1] == ']') return true;
      const std::string_view port = slice(from + colon + 1, end);
      if (std::ranges::all_of(port, is_digit)) return true;
      at = last_at_sign(from);
      if (at == npos || at < end) return true;
      at -= from;
    }
    if (!is_masked(slice(from, from + at))) hide(from, from + at);
    return true;
  }

  /// The last @ before white space or a quote.
  [[nodiscard]] std::size_t last_at_sign(std::size_t from) noexcept {
    if (from >= run_end_) {
      run_end_ = from;
      last_at_ = npos;
      for (; run_end_ < text_.size(); ++run_end_) {
        const char c = text_[run_end_];
        if (is_space(c) || is_quote(c)) break;
        if (c == '@') last_at_ = run_end_;
      }
    }
    return last_at_ != npos && last_at_ > from ? last_at_ : npos;
  }

  bool pem_key() {
    constexpr std::string_view begin_mark = "-----BEGIN ";
    if (!slice_is(at_, begin_mark)) return false;
    const std::size_t label = at_ + begin_mark.size();
    const std::size_t label_end =
        skip(label, [](char c) { return is_upper(c) || is_digit(c) || c == ' '; });
    const std::string_view what = slice(label, label_end);
    if (!slice_is(label_end, "-----") || what.find("PRIVATE KEY") == npos) return false;
    const std::size_t body = label_end + 5;
    at_ = body;
    if (pem_ends_) {
      const std::size_t end = text_.find("-----END ", body);
      pem_ends_ = end != npos;
      if (pem_ends_) {
        if (!is_masked(slice(body, end))) hide(body, end);
        return true;
      }
    }
    const std::size_t line = skip(body, [](char c) { return is_space(c) || c == '\\'; });
    if (skip(line, is_token68) - line < 16) return true;  // somebody only speaks of it
    hide(line, skip(line, [](char c) { return is_token68(c) || is_space(c) || c == '\\'; }));
    return true;
  }

  std::string_view text_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t copied_ = 0;
  std::size_t searched_to_ = 0;
  std::size_t run_end_ = 0;
  std::size_t last_at_ = npos;
  bool pem_ends_ = true;
};

}  // namespace

std::string redact(std::string_view text) {
  std::string once = Scanner(text).run();
  // What was hidden may have been the context of something else; it is looked at again until
  // nothing changes. Text without secrets, nearly all of it, is read once. The bound keeps text
  // made to annoy us linear.
  for (int pass = 0; pass < 8 && once != text; ++pass) {
    std::string again = Scanner(once).run();
    if (again == once) break;
    once = std::move(again);
  }
  return once;
}

void redact(Failure& failure) {
  failure.text = redact(failure.text);
  failure.stack = redact(failure.stack);
  for (Cause& cause : failure.causes) cause.text = redact(cause.text);
}

}  // namespace dlo
