// Where a secret has no name with a sign behind it: elements, sentences, commands, addresses.
#include "dlo/core/redact_scanner.h"
#include "dlo/core/redact_tables.h"

namespace dlo::redact_look {

namespace tables = redact_tables;

namespace {

/// Nothing that belongs together is longer: what is looked for behind or ahead stays cheap.
constexpr std::size_t far = 512;

constexpr bool is_lower_or_digit(char c) noexcept {
  return is_lower(c) || is_digit(c);
}

}  // namespace

// --- elements

bool Scanner::is_tag(std::size_t begin) const noexcept {
  constexpr std::size_t longest_prefix = 64;
  if (begin == npos || begin == 0) return false;
  std::size_t i = begin - 1;
  if (text_[i] == ':') {
    const std::size_t least = i > longest_prefix ? i - longest_prefix : 0;
    while (i > least && is_word(text_[i - 1])) --i;
    if (i == 0) return false;
    --i;
  }
  return text_[i] == '<';
}

bool Scanner::element(std::size_t begin, std::size_t end, Trust trust) {
  if ((peek(end) != '>' && !is_space(peek(end))) || !is_tag(begin)) return false;
  if (peek(end) == '>') {
    element_value(end + 1, trust);
    return true;
  }
  const std::string_view attributes = text_.substr(end, far);
  const std::size_t close = attributes.find_first_of("<>");
  if (close == npos || attributes[close] == '<' || attributes[close - 1] == '/') return false;
  if (attributes.substr(0, close).find('=') == npos) return false;  // <password of the user>
  tag_end_ = end + close + 1;
  tag_trust_ = trust;
  return true;
}

void Scanner::element_value(std::size_t from, Trust trust) {
  constexpr std::string_view raw = "<![CDATA[";
  if (slice_is(from, raw)) {
    from += raw.size();
    const std::size_t length = text_.substr(from, far).find("]]>");
    if (length != npos) judge(from, from + length, trust);
    return;
  }
  const std::size_t to = skip(from, [](char c) { return c != '<'; });
  // `login <user> <password> [host]` tells how something is called.
  if (is_blank(peek(from)) && !slice_is(to, "</")) return;
  judge(skip(from, is_space), to, trust);
}

// --- sentences

std::string_view Scanner::word_before(std::size_t begin) const noexcept {
  constexpr std::size_t longest = 24;
  if (begin < 2 || !is_blank(text_[begin - 1])) return {};
  const std::size_t end = begin - 1;
  std::size_t from = end;
  while (from > 0 && end - from < longest && is_word(text_[from - 1])) --from;
  return slice(from, end);
}

void Scanner::spoken_value(std::size_t begin, std::size_t end, Trust trust) {
  const std::size_t next = end + 1;
  if (peek(end) == ' ' && is_quote(peek(next))) {
    if (trust == Trust::certain && peek(next) == '\'') return sql_literal(end);
    // A program is told of a secret by its name: secret "db-credentials-2" not found.
    const bool is_name = FoldedName(slice(begin, end)).ends_like(tables::named_things);
    if (!is_name && !is_one_of(word_before(begin), tables::parsing)) quoted_token(next, trust);
    return;
  }
  if (trust == Trust::certain) {
    told_value(begin, end);
  } else if (!is_one_of(word_before(begin), tables::parsing)) {
    told_token(end);
  }
  if (at_ == end) (void)said_value(end);
  if (at_ == end && trust == Trust::certain) pointed_value(end);
}

bool Scanner::paired_value(std::size_t end, Trust trust) {
  const auto between = [](char c) {
    return is_space(c) || is_quote(c) || c == ',' || c == '\\' || c == ';';
  };
  const std::size_t member = skip(end, between);
  const std::size_t member_end = skip(member, is_word);
  if (member == end || member - end > far / 8) return false;
  if (!is_one_of(slice(member, member_end), tables::pair_members)) return false;
  const std::size_t from = value_start(npos, member_end);
  if (from == npos) return false;
  std::size_t escapes = from;
  while (peek(escapes) == '\\') ++escapes;
  if (is_quote(peek(escapes))) {
    quoted_value(from, escapes, trust);
  } else {
    bare_value(member, member_end, from, trust);
  }
  return true;
}

std::size_t Scanner::behind_quoted_owner(std::size_t end) const noexcept {
  constexpr std::size_t longest = 160;
  const char quote = peek(end);
  if (!is_quote(quote)) return npos;
  const std::string_view rest = text_.substr(end + 1, longest);
  const std::size_t close = rest.find(quote);
  if (close == npos || rest.substr(0, close).find('\n') != npos) return npos;
  const std::size_t colon = end + 1 + close + 1;
  return slice_is(colon, ": ") ? colon : npos;
}

void Scanner::pointed_value(std::size_t end) {
  constexpr std::string_view arrow = " -> ";
  constexpr std::string_view whose = " for ";
  constexpr std::size_t longest = 80;
  if (slice_is(end, arrow)) return lone_token(end + arrow.size());
  if (slice_is(end, " [")) {
    const std::size_t from = end + 2;
    const std::size_t to = skip(from, [](char c) { return !is_space(c) && c != ']'; });
    if (peek(to) == ']' && is_no_word(slice(from, to))) hide(from, to);
    return;
  }
  if (!slice_is(end, whose)) return;
  if (const std::size_t owned = behind_quoted_owner(end + whose.size()); owned != npos) {
    return lone_token(owned + 2);
  }
  const std::string_view rest = text_.substr(end, longest);
  const std::size_t colon = rest.find(": ");
  // Another sentence between them: the colon is not this one's.
  if (colon == npos || rest.substr(0, colon).find_first_of(".,;()=\n") != npos) return;
  const std::size_t from = end + colon + 2;
  const std::size_t to = skip(from, [](char c) { return !is_space(c); });
  // ORA-01017, HTTP 401: numbers of errors have no small letters.
  if (std::ranges::any_of(slice(from, to), is_lower)) lone_token(from);
}

void Scanner::key_value(std::size_t begin, std::size_t end) {
  if (!is_one_of(word_before(begin), tables::key_owners)) return;
  const std::size_t from = value_start(begin, end);
  if (from != npos) return lone_token(from);
  if (said_value(end) || peek(end) != ' ') return;
  if (const std::size_t told = behind_verb(end); told != npos) return lone_token(told);
  if (is_quote(peek(end + 1))) return quoted_token(end + 1, Trust::certain);
  const std::size_t to = without_full_stop(end + 1, skip(end + 1, is_token68));
  if (looks_random(slice(end + 1, to))) hide(end + 1, to);
}

bool Scanner::said_value(std::size_t end) {
  if (peek(end) != ' ') return false;
  const std::size_t word_end = skip(end + 1, is_word);
  if (!is_one_of(slice(end + 1, word_end), tables::said)) return false;
  const std::size_t from = value_start(npos, word_end);
  if (from != npos) lone_token(from);
  return true;
}

void Scanner::quoted_token(std::size_t quote_at, Trust trust) {
  const std::size_t from = quote_at + 1;
  const std::size_t to = skip(from, is_token68);
  const std::string_view token = slice(from, to);
  if (peek(to) != text_[quote_at]) return;
  if (looks_random(token) || (trust == Trust::certain && is_no_word(token))) hide(from, to);
}

void Scanner::lone_token(std::size_t from) {
  if (is_quote(peek(from))) ++from;
  std::size_t to = skip(from, [](char c) { return !is_space(c) && !is_quote(c); });
  while (to > from && std::string_view(".,;:)!?").find(text_[to - 1]) != npos) --to;
  const std::string_view token = slice(from, to);
  if (!is_masked(token) && (is_no_word(token) || looks_random(token))) hide(from, to);
}

std::size_t Scanner::behind_verb(std::size_t end) const noexcept {
  const auto verb = std::ranges::find_if(
      tables::verbs, [&](std::string_view each) { return slice_is(end, each); });
  return verb == tables::verbs.end() ? npos : end + verb->size();
}

void Scanner::told_token(std::size_t end) {
  constexpr std::size_t shortest = 12;
  std::size_t from = behind_verb(end);
  if (from == npos) return;
  if (is_quote(peek(from))) ++from;
  const std::size_t to = skip(from, is_alnum);
  if (is_token68(peek(to)) && !is_space(peek(to + 1)) && to + 1 < text_.size()) return;
  if (to - from >= shortest && looks_random(slice(from, to))) hide(from, to);
}

void Scanner::told_value(std::size_t begin, std::size_t end) {
  std::size_t from = behind_verb(end);
  const bool said = from != npos;
  if (!said) {
    if (peek(end) != ' ' || !is_one_of(word_before(begin), tables::telling_before)) return;
    from = end + 1;
  }
  if (is_quote(peek(from))) return quoted_value(from, from, Trust::certain);
  std::size_t to = skip(from, [](char c) { return !is_space(c) && !is_quote(c); });
  while (to > from && std::string_view(".,;:)!?").find(text_[to - 1]) != npos) --to;
  const bool told = said && FoldedName(slice(begin, end)).ends_like(tables::spoken_secrets);
  if (is_no_word(slice(from, to)) || (told && is_last_word(from, to))) hide(from, to);
}

bool Scanner::is_last_word(std::size_t from, std::size_t to) const noexcept {
  constexpr std::size_t shortest = 4;
  const std::string_view word = slice(from, to);
  const std::size_t rest = skip(to, [](char c) { return c == '.' || c == '!' || is_blank(c); });
  const bool ends = rest == text_.size() || peek(rest) == '\n' || peek(rest) == '\r';
  if (!ends || word.size() < shortest || !std::ranges::all_of(word, is_alnum)) return false;
  if (is_one_of(word, tables::said_of_secrets) || is_prose(word, '\0', Trust::likely)) return false;
  return std::ranges::none_of(tables::said_endings, [&](std::string_view ending) {
    return word.size() > ending.size() && same(word.substr(word.size() - ending.size()), ending);
  });
}

void Scanner::next_line_value(std::size_t from) {
  if (peek(from) == '\r') ++from;
  if (peek(from) != '\n') return;
  from = skip(from + 1, is_blank);
  const std::size_t to = skip(from, [](char c) { return !is_space(c); });
  const std::size_t rest = skip(to, is_blank);
  const std::string_view token = slice(from, to);
  const bool is_alone = rest == text_.size() || is_space(text_[rest]);
  // `port:` and `user_2=bob` are the next setting.
  const std::size_t sign = token.find_first_of(":=_<>(){}[]\"'");
  const bool is_padding = sign != npos && token.find_first_not_of('=', sign) == npos;
  if (!is_alone || (sign != npos && !is_padding)) return;
  if (!is_masked(token) && (is_no_word(token) || looks_random(token))) hide(from, to);
}

// --- commands

void Scanner::note_program(std::size_t begin, std::string_view name) noexcept {
  // Every word is asked: nearly all are through after one comparison.
  if (name.size() < tables::shortest_program || !tables::begins_program(name.front())) return;
  const bool known =
      name == "curl" || std::ranges::any_of(tables::password_flags,
                                            [&](const auto& each) { return name == each.program; });
  // `curl https://host/login -u ann:x` is still curl.
  if (!known || (name == "login" && is_in_command(begin))) return;
  program_at_ = begin;
  program_ = name;
}

bool Scanner::is_in_command(std::size_t at) const noexcept {
  return program_at_ != npos && at - program_at_ <= far &&
         slice(program_at_, at).find('\n') == npos;
}

void Scanner::user_flag(std::size_t end) {
  const bool has_value = is_blank(peek(end)) || peek(end) == '=';
  if (!has_value || program_ != "curl" || !is_in_command(end)) return;
  std::size_t from = skip(peek(end) == '=' ? end + 1 : end, is_blank);
  const char quote = is_quote(peek(from)) ? peek(from) : '\0';
  if (quote != '\0') ++from;
  const std::size_t to =
      skip(from, [&](char c) { return quote != '\0' ? c != quote && c != '\n' : !is_space(c); });
  const std::size_t colon = slice(from, to).find(':');
  if (colon == npos || is_masked(slice(from + colon + 1, to))) return;
  hide(from + colon + 1, to);
}

bool Scanner::password_flag(std::size_t begin, std::size_t end) {
  const std::string_view word = slice(begin, end);
  const auto flag = std::ranges::find_if(tables::password_flags, [&](const auto& each) {
    return word.starts_with(each.flag) && program_ == each.program;
  });
  if (flag == tables::password_flags.end() || !is_in_command(end)) return false;
  const std::size_t flag_end = begin + flag->flag.size();
  const bool joined = flag_end < text_.size() && !is_space(text_[flag_end]);
  if (flag->how == (joined ? tables::Takes::behind : tables::Takes::attached)) return true;
  if (word == "-port" && is_digit(peek(skip(end, is_blank)))) return true;  // a long option
  std::size_t from = joined ? flag_end : skip(flag_end, is_blank);
  const char quote = is_quote(peek(from)) ? peek(from) : '\0';
  if (quote != '\0') ++from;
  const std::size_t to = skip(from, [&](char c) {
    return quote != '\0' ? c != quote && c != '\n' : !is_space(c) && !is_quote(c);
  });
  const std::string_view password = slice(from, to);
  if (!is_masked(password) && password.find_first_not_of(".,;:)") != npos) hide(from, to);
  return true;
}

// --- addresses

bool Scanner::webhook(std::size_t from) {
  const auto known = std::ranges::find_if(
      tables::webhooks, [&](std::string_view each) { return slice_is(from, each); });
  if (known == tables::webhooks.end()) return false;
  const std::size_t rest = from + known->size();
  const std::size_t to = skip(rest, [](char c) {
    return is_token68(c) || c == '%' || c == '?' || c == '&' || c == ':' || c == '*';
  });
  const std::size_t stop = without_full_stop(rest, to);
  if (!is_masked(slice(rest, stop))) hide(rest, stop);
  return true;
}

/// `db.example.com/` or `db.example.com:5432`: only an address goes on like that.
bool Scanner::is_host(std::size_t from) const noexcept {
  constexpr std::size_t longest = 256;
  const std::string_view rest = text_.substr(from, longest);
  std::size_t end = 0;
  while (end < rest.size() && (is_word(rest[end]) || rest[end] == '.')) ++end;
  const std::string_view host = rest.substr(0, end);
  const std::size_t dot = host.rfind('.');
  if (dot == npos || dot == 0 || host.size() - dot < 3) return false;
  if (!std::ranges::all_of(host.substr(dot + 1), is_lower)) return false;
  const char next = end < rest.size() ? rest[end] : '\0';
  return next == '/' || (next == ':' && end + 1 < rest.size() && is_digit(rest[end + 1]));
}

void Scanner::bare_address() {
  constexpr std::size_t longest = 256;
  const std::size_t network_end = skip(at_ + 1, is_lower_or_digit);
  const bool is_go =
      peek(network_end) == '(' && is_one_of(slice(at_ + 1, network_end), tables::go_networks);
  if (!is_go && !is_host(at_ + 1)) return;
  const std::size_t least = std::max(copied_, at_ > longest ? at_ - longest : 0);
  std::size_t from = at_;
  while (from > least && !is_space(text_[from - 1]) && !is_quote(text_[from - 1])) --from;
  const std::size_t colon = slice(from, at_).find(':');
  if (colon != npos) {
    const std::string_view password = slice(from + colon + 1, at_);
    const bool is_address =
        is_one_of(slice(from, from + colon), tables::address_schemes) || password.find('/') != npos;
    const bool secret = is_go || (!is_address && (is_no_word(password) || looks_random(password)));
    if (secret && !is_masked(password)) hide(from + colon + 1, at_);
  } else if (is_go && from == copied_ && copied_ > 0) {
    copied_ = at_;  // a part of it is hidden already: so is the rest
  }
}

}  // namespace dlo::redact_look
