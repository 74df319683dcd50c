#include "dlo/core/redact.h"

#include <algorithm>
#include <utility>

#include "dlo/core/redact_endings.h"
#include "dlo/core/redact_scanner.h"
#include "dlo/core/redact_tables.h"

namespace dlo {
namespace redact_look {

namespace tables = redact_tables;

namespace {

constexpr std::string_view pem_mark = "-----BEGIN";
constexpr std::string_view pem_end_mark = "-----END ";

}  // namespace

std::string Scanner::run() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '-' && pem_key()) continue;
    if (c == ':' && url_user()) continue;
    if ((c == '$' && crypt_hash()) || (c == '{' && directory_hash())) continue;
    if (c == '@') bare_address();
    if (at_ == tag_end_) {
      tag_end_ = npos;
      element_value(at_, tag_trust_);
      continue;
    }
    if (is_word(c) && (at_ == 0 || !is_word(text_[at_ - 1]))) {
      word();
    } else {
      ++at_;
    }
  }
  out_.append(text_.substr(copied_));
  return std::move(out_);
}

void Scanner::hide(std::size_t from, std::size_t to) {
  to = std::max(to, end_of_key_in(from, to));
  out_.append(text_.substr(copied_, from - copied_));
  out_.append("***");
  copied_ = at_ = to;
}

void Scanner::word() {
  const std::size_t begin = at_;
  std::size_t end = skip(begin, is_word);
  if (const std::size_t dashes = slice(begin, end).find("-----"); dashes != npos) {
    end = begin + std::max<std::size_t>(dashes, 1);  // a PEM mark may follow
  }
  at_ = end;
  if (jwt(begin, end) || marked_key(begin, end) || bot_key(begin, end)) return;
  if (dotted_key(begin, end) || refresh_key(begin, end)) return;
  if (end - begin > 64) return;
  const std::string_view name = slice(begin, end);
  note_program(begin, name);
  if (name.front() != '-' && !tables::endings.may_matter(name)) return;
  const FoldedName folded(name);  // what follows looks for names that `endings` lets pass
  if (name.front() == '-' && program_at_ != npos && password_flag(begin, end)) return;
  if (folded.is(tables::authorization)) {
    header_value(begin, end);
  } else if (folded.is(tables::cookies)) {
    cookie(end);
  } else if (folded.ends_like(tables::telling)) {
    named_value(begin, end, Trust::certain);
  } else if (folded.ends_like(tables::suspicious)) {
    if (scheme_token(end, name) || mail_login(begin, end) || cache_login(begin, end)) return;
    named_value(begin, end, trust_at(begin, end));
  } else if (folded.view() == "by" && same(identified(begin), "identified")) {
    sql_literal(end);
  } else if (folded.view() == "key") {
    key_value(begin, end);
  } else if (is_one_of(name, tables::user_flags)) {
    user_flag(end);
  } else if (!code_value(begin, end, folded) && !oracle_login(begin, end)) {
    scheme_token(end, name);
  }
}

bool Scanner::jwt(std::size_t begin, std::size_t end) {
  if (end - begin < 10 || slice(begin, begin + 3) != "eyJ" || peek(end) != '.') return false;
  const std::size_t second = skip(end + 1, is_word);
  if (second - end < 5 || peek(second) != '.') return false;
  hide(begin, skip(second + 1, is_word));
  return true;
}

bool Scanner::marked_key(std::size_t begin, std::size_t end) {
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
    if (key.exact && key.alphabet == tables::Alphabet::upper_digits) other_half(end);
    return true;
  }
  return false;
}

bool Scanner::url_user() {
  if (!slice_is(at_, "://") || at_ == 0 || !is_alnum(text_[at_ - 1])) return false;
  const std::size_t from = at_ + 3;
  at_ = from;
  if (webhook(from)) return true;
  const auto in_authority = [](char c) {
    return !is_space(c) && !is_quote(c) && c != '/' && c != '?' && c != '#' && c != '<' && c != '>';
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

std::size_t Scanner::last_at_sign(std::size_t from) noexcept {
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

std::size_t Scanner::pem_body(std::size_t mark) const noexcept {
  if (!slice_is(mark, pem_mark) || peek(mark + pem_mark.size()) != ' ') return npos;
  const std::size_t label = mark + pem_mark.size();
  const std::size_t end =
      skip(label, [](char c) { return is_upper(c) || is_digit(c) || c == ' '; });
  const bool is_key = slice(label, end).find("PRIVATE KEY") != npos;
  return is_key && slice_is(end, "-----") ? end + 5 : npos;
}

std::size_t Scanner::pem_end(std::size_t body) noexcept {
  if (pem_ends_) {
    const std::size_t end = text_.find(pem_end_mark, body);
    pem_ends_ = end != npos;
    if (pem_ends_) return end;
  }
  constexpr std::size_t shortest = 16;
  const std::size_t line = skip(body, [](char c) { return is_space(c) || c == '\\'; });
  if (skip(line, is_token68) - line < shortest) return body;  // somebody only speaks of it
  return skip(line, [](char c) { return is_token68(c) || is_space(c) || c == '\\'; });
}

bool Scanner::pem_key() {
  const std::size_t body = pem_body(at_);
  if (body == npos) return false;
  at_ = body;
  const std::size_t end = pem_end(body);
  const std::size_t line =
      pem_ends_ ? body : skip(body, [](char c) { return is_space(c) || c == '\\'; });
  if (end > line && !is_masked(slice(line, end))) hide(line, end);
  return true;
}

std::size_t Scanner::end_of_key_in(std::size_t from, std::size_t to) noexcept {
  const std::size_t mark = slice(from, to).rfind(pem_mark);
  const std::size_t body = mark == npos ? npos : pem_body(from + mark);
  if (body == npos) return to;
  const std::size_t end = pem_end(body);
  if (!slice_is(end, pem_end_mark)) return end;
  const std::size_t label =
      skip(end + pem_end_mark.size(), [](char c) { return c != '-' && c != '\n'; });
  return slice_is(label, "-----") ? label + 5 : label;
}

}  // namespace redact_look

std::string redact(std::string_view text) {
  std::string once = redact_look::Scanner(text).run();
  // What was hidden may have been the context of something else; it is looked at again until
  // nothing changes. Text without secrets, nearly all of it, is read once. The bound keeps text
  // made to annoy us linear.
  for (int pass = 0; pass < 8 && once != text; ++pass) {
    std::string again = redact_look::Scanner(once).run();
    if (again == once) break;
    once = std::move(again);
  }
  return once;
}

void redact(Failure& failure) {
  for (std::string* each : {&failure.type, &failure.text, &failure.code, &failure.stack}) {
    *each = redact(*each);
  }
  for (Cause& cause : failure.causes) {
    cause.type = redact(cause.type);
    cause.text = redact(cause.text);
  }
}

}  // namespace dlo
