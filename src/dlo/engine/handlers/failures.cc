#include "dlo/engine/handlers/failures.h"

#include <utility>

#include "dlo/core/encoding.h"

namespace dlo {

namespace {

constexpr char escape = '\x1B';

bool is_between(char value, char low, char high) {
  return value >= low && value <= high;
}

/// Where the terminal control sequence that starts at `at` (an ESC) ends.
std::size_t after_escape(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  if (end >= text.size()) return end;
  if (text[end] == '[') {  // CSI: parameters and intermediates, then one final byte
    ++end;
    while (end < text.size() && is_between(text[end], ' ', '?')) ++end;
    return end < text.size() && is_between(text[end], '@', '~') ? end + 1 : end;
  }
  if (text[end] == ']') {  // OSC: up to BEL or ESC backslash; if neither comes, only the opening
    const std::size_t close = text.find_first_of("\x07\x1B\n", end);
    if (close == std::string_view::npos || text[close] == '\n') return end + 1;
    return text[close] == escape && close + 1 < text.size() ? close + 2 : close + 1;
  }
  return is_between(text[end], '@', '_') ? end + 1 : end;
}

std::string trimmed(std::string text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return {};
  text.erase(text.find_last_not_of(" \t\n") + 1);
  text.erase(0, first);
  return text;
}

}  // namespace

Outcome failed(std::string_view type, std::string code, std::string text) {
  Outcome outcome{OutcomeKind::failed, {}};
  outcome.failure.type = type;
  outcome.failure.code = std::move(code);
  outcome.failure.text = std::move(text);
  return outcome;
}

std::string clean_text(std::string_view text) {
  const std::string valid = to_utf8(text);
  std::string out;
  out.reserve(valid.size());
  for (std::size_t at = 0; at < valid.size();) {
    const char c = valid[at];
    if (c == escape) {
      at = after_escape(valid, at);
      continue;
    }
    const bool line_end = c == '\r' && at + 1 < valid.size() && valid[at + 1] == '\n';
    if (c == '\0') {
      out += "\uFFFD";
    } else if (!line_end) {
      const bool control = (is_between(c, '\x01', '\x1F') && c != '\n' && c != '\t') || c == '\x7F';
      out += control ? ' ' : c;
    }
    ++at;
  }
  return trimmed(std::move(out));
}

void Tail::add(std::string_view bytes) {
  total_ += bytes.size();
  if (bytes.size() > room_) bytes.remove_prefix(bytes.size() - room_);
  kept_ += bytes;
  if (kept_.size() > 2 * room_) kept_.erase(0, kept_.size() - room_);
}

std::string_view Tail::end() const noexcept {
  const std::string_view kept = kept_;
  return kept.substr(kept.size() - std::min(kept.size(), room_));
}

std::string Tail::text() const {
  std::string_view kept = kept_;
  if (kept.size() > limit_) kept.remove_prefix(kept.size() - limit_);
  if (total_ == kept.size()) return clean_text(kept);
  // Begin with a whole character, better with a whole line.
  while (!kept.empty() && (kept.front() & '\xC0') == '\x80') kept.remove_prefix(1);
  const auto line = kept.find('\n');
  if (line < kept.size() / 4) kept.remove_prefix(line + 1);
  return "[" + std::to_string(total_ - kept.size()) + " bytes before this were left out]\n" +
         clean_text(kept);
}

}  // namespace dlo
