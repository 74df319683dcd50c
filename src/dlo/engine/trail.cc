#include "dlo/engine/trail.h"

#include <array>
#include <charconv>
#include <optional>

#include "dlo/core/encoding.h"

namespace dlo {
namespace {

// One line per attempt, fields parted by tabs; tab, newline and backslash are escaped.
constexpr std::size_t field_count = 10;
// The first line, if there is a limit of a call. No attempt begins like this.
constexpr std::string_view limit_mark = "limit\t";

void put(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
}

std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char next = text[++i];
    out += next == 't' ? '\t' : next == 'n' ? '\n' : next;
  }
  return out;
}

std::string line_of(const Attempt& attempt) {
  std::string line;
  const auto number = [&line](std::int64_t value) { (line += std::to_string(value)) += '\t'; };
  number(attempt.number);
  number(attempt.started_at.time_since_epoch().count());
  number(attempt.took.count());
  number(static_cast<std::int64_t>(attempt.outcome));
  number(attempt.next_delay.count());
  for (const std::string& text : {attempt.category, attempt.rule, attempt.error_type}) {
    put(line, beginning(text, 128));
    line += '\t';
  }
  put(line, beginning(attempt.node, 128));
  line += '\t';
  put(line, beginning(attempt.error_text, trail_text));
  line += '\n';
  return line;
}

template <typename Number>
bool read(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

std::optional<Attempt> parse_line(std::string_view line) {
  std::array<std::string_view, field_count> field;
  for (std::size_t i = 0; i < field_count; ++i) {
    const std::size_t tab = line.find('\t');
    if ((tab == std::string_view::npos) != (i + 1 == field_count)) return std::nullopt;
    field[i] = line.substr(0, tab);
    line.remove_prefix(tab == std::string_view::npos ? line.size() : tab + 1);
  }
  Attempt attempt;
  std::int64_t started = 0;
  std::int64_t took = 0;
  std::int64_t delay = 0;
  unsigned outcome = 0;
  if (!read(field[0], attempt.number) || !read(field[1], started) || !read(field[2], took) ||
      !read(field[3], outcome) || !read(field[4], delay) ||
      outcome > static_cast<unsigned>(OutcomeKind::never_started)) {
    return std::nullopt;
  }
  attempt.started_at = TimePoint{Millis{started}};
  attempt.took = Millis{took};
  attempt.outcome = static_cast<OutcomeKind>(outcome);
  attempt.next_delay = Millis{delay};
  attempt.category = unescaped(field[5]);
  attempt.rule = unescaped(field[6]);
  attempt.error_type = unescaped(field[7]);
  attempt.node = unescaped(field[8]);
  attempt.error_text = unescaped(field[9]);
  return attempt;
}

std::string_view without_limit(std::string_view trail) noexcept {
  if (!trail.starts_with(limit_mark)) return trail;
  const std::size_t end = trail.find('\n');
  return end == std::string_view::npos ? std::string_view() : trail.substr(end + 1);
}

std::vector<std::string_view> lines_of(std::string_view trail) {
  std::vector<std::string_view> lines;
  trail = without_limit(trail);
  while (!trail.empty()) {
    const std::size_t end = trail.find('\n');
    if (end == std::string_view::npos) break;  // torn: not a whole line
    if (end > 0) lines.push_back(trail.substr(0, end + 1));
    trail.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

std::string_view beginning(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = 0;
  while (true) {
    const std::size_t step = utf8_length(text, end);
    if (end + step > limit) return text.substr(0, end);
    end += step;
  }
}

std::string with_attempt(std::string_view trail, const Attempt& attempt) {
  const std::string line = line_of(attempt);
  std::vector<std::string_view> lines = lines_of(trail);
  lines.push_back(line);
  std::size_t bytes = 0;
  for (const std::string_view one : lines) bytes += one.size();
  // The first one says how it began, the newest what is wrong now: the middle goes.
  while (lines.size() > 2 && (lines.size() > trail_attempts || bytes > trail_bytes)) {
    bytes -= lines[1].size();
    lines.erase(lines.begin() + 1);
  }
  std::string out = with_call_limit({}, call_limit_of(trail));
  out.reserve(out.size() + bytes);
  for (const std::string_view one : lines) out += one;
  return out;
}

std::vector<Attempt> attempts_of(std::string_view trail) {
  std::vector<Attempt> attempts;
  for (std::string_view line : lines_of(trail)) {
    line.remove_suffix(1);
    if (auto attempt = parse_line(line)) attempts.push_back(std::move(*attempt));
  }
  return attempts;
}

std::string with_call_limit(std::string_view trail, std::optional<std::uint32_t> limit) {
  const std::string_view attempts = without_limit(trail);
  std::string out;
  if (limit) ((out += limit_mark) += std::to_string(*limit)) += '\n';
  out += attempts;
  if (out.empty() && !trail.empty()) out.push_back('\n');
  return out;
}

std::optional<std::uint32_t> call_limit_of(std::string_view trail) noexcept {
  if (!trail.starts_with(limit_mark)) return std::nullopt;
  trail.remove_prefix(limit_mark.size());
  std::uint32_t limit = 0;
  if (!read(trail.substr(0, trail.find('\n')), limit)) return std::nullopt;
  return limit;
}

}  // namespace dlo
