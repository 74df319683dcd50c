#include "dlo/query/terms.h"

#include <algorithm>

namespace dlo::query {
namespace {

constexpr std::string_view header_prefix = "header.";
constexpr std::string_view body_prefix = "body.";

}  // namespace

Error mistake(std::string_view text, std::size_t at, const std::string& what) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size()));
  const auto column = std::count_if(text.begin(), end, begins) + 1;
  return {Code::invalid_argument, "query.parse", "column " + std::to_string(column) + ": " + what};
}

std::size_t name_length(std::string_view text) noexcept {
  if (text.empty() || !is_name_char(text.front()) || (text.front() >= '0' && text.front() <= '9')) {
    return 0;
  }
  const auto end = std::find_if_not(text.begin(), text.end(), is_name_char);
  return static_cast<std::size_t>(end - text.begin());
}

void TermReader::skip_blanks() noexcept {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

bool TermReader::is_end() const noexcept {
  return at_ == text_.size() || is_blank(text_[at_]);
}

Error TermReader::expected(const std::string& what) const {
  return mistake(text_, at_, "expected " + what);
}

Result<bool> TermReader::next(Term& term) {
  skip_blanks();
  if (at_ == text_.size()) return false;
  term = {};
  term.at = at_;
  if (text_[at_] == '-') {
    term.negated = true;
    ++at_;
    // A second minus would make a word of what is meant to narrow the list.
    if (is_end() || text_[at_] == '-') {
      return expected("a qualifier or a word right after the minus");
    }
  }
  const std::string_view rest = text_.substr(at_);
  const std::size_t name = name_length(rest);
  const bool has_path = rest.starts_with(header_prefix) || rest.starts_with(body_prefix);
  const bool is_qualifier = has_path || (name > 0 && name < rest.size() && rest[name] == ':');
  const auto read = is_qualifier ? qualifier(term) : free_text(term);
  if (!read) return read.error();
  return true;
}

Result<void> TermReader::qualifier(Term& term) {
  const std::string_view rest = text_.substr(at_);
  const std::size_t name = name_length(rest);
  term.qualifier = std::string(rest.substr(0, name));
  at_ += name;
  if (text_[at_] == '.') {
    term.qualifier += '.';
    ++at_;
    if (auto read = path(term); !read) return read;
  }
  if (at_ == text_.size() || text_[at_] != ':') {
    return expected("a colon and a value after " + term.qualifier + term.path);
  }
  ++at_;
  return values(term);
}

Result<void> TermReader::path(Term& term) {
  if (at_ < text_.size() && text_[at_] == '"') {
    auto read = quoted();
    if (!read) return read.error();
    term.path = std::move(*read);
  } else {
    const std::size_t end = text_.find_first_of(": \t\r\n\",", at_);
    term.path = std::string(text_.substr(at_, end - at_));
    at_ = std::min(end, text_.size());
  }
  if (!term.path.empty()) return {};
  return expected(term.qualifier == header_prefix ? "the name of a header, as in header.tenant:acme"
                                                  : "a path, as in body.order.id:7");
}

Op TermReader::take_op() noexcept {
  const std::string_view rest = text_.substr(at_);
  if (rest.starts_with(">=")) return at_ += 2, Op::more_or_equal;
  if (rest.starts_with("<=")) return at_ += 2, Op::less_or_equal;
  if (rest.starts_with(">")) return at_ += 1, Op::more;
  if (rest.starts_with("<")) return at_ += 1, Op::less;
  return Op::none;
}

Result<void> TermReader::values(Term& term) {
  for (;;) {
    Value value;
    value.at = at_;
    value.op = take_op();
    if (is_end() || text_[at_] == ',') return expected("a value");
    value.quoted = text_[at_] == '"';
    auto read = value.quoted ? quoted() : bare(true);
    if (!read) return read.error();
    value.text = std::move(*read);
    term.values.push_back(std::move(value));
    if (is_end()) return {};
    if (text_[at_] != ',') return expected("a blank or a comma after the closing quote");
    ++at_;
  }
}

Result<void> TermReader::free_text(Term& term) {
  Value value;
  value.at = at_;
  value.quoted = text_[at_] == '"';
  auto read = value.quoted ? quoted() : bare(false);
  if (!read) return read.error();
  if (!is_end()) return expected("a blank after the closing quote");
  value.text = std::move(*read);
  term.values.push_back(std::move(value));
  return {};
}

Result<std::string> TermReader::quoted() {
  const std::size_t begin = at_++;
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"') {
    if (text_[at_] == '\\') {
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (next != '"' && next != '\\') {
        return expected(R"(\" or \\: inside quotes a backslash is written twice)");
      }
      ++at_;
    }
    out += text_[at_++];
  }
  if (at_ == text_.size()) return mistake(text_, begin, "expected a closing quote for this one");
  ++at_;
  return out;
}

Result<std::string> TermReader::bare(bool stop_at_comma) {
  const std::size_t end =
      std::min(text_.find_first_of(stop_at_comma ? " \t\r\n\"," : " \t\r\n\"", at_), text_.size());
  std::string out(text_.substr(at_, end - at_));
  at_ = end;
  if (at_ < text_.size() && text_[at_] == '"') {
    return expected(
        "no quote inside a word: put the whole of it into quotes, and write \\\" for a "
        "quote in it");
  }
  return out;
}

}  // namespace dlo::query
