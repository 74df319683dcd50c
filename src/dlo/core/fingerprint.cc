#include "dlo/core/fingerprint.h"

#include <algorithm>
#include <vector>

#include "dlo/core/encoding.h"
#include "dlo/core/field_hash.h"
#include "dlo/core/spelling.h"
#include "dlo/core/stack.h"

namespace dlo {
namespace {

constexpr std::size_t frames_compared = 3;
constexpr std::size_t title_limit = 160;

constexpr bool is_lower(char c) noexcept {
  return c >= 'a' && c <= 'z';
}
constexpr bool is_alpha(char c) noexcept {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}

struct Root {
  std::string type;  // normalised
  std::string text;  // normalised
};

Root root_of(const Failure& failure, const StackReading& stack) {
  if (!failure.causes.empty()) {
    const Cause& last = failure.causes.back();
    return {normalise(last.type), normalise(last.text)};
  }
  if (!stack.root_type.empty()) return {normalise(stack.root_type), normalise(stack.root_text)};
  return {normalise(failure.type), normalise(failure.text)};
}

bool has_words(std::string_view text) {
  bool in_mark = false;
  for (const char c : text) {
    if (c == '<' || c == '>') in_mark = c == '<';
    if (!in_mark && (is_alpha(c) || static_cast<unsigned char>(c) >= 0x80)) return true;
  }
  return false;
}

/// The words a programmer wrote: all in lower case, or the first of the text. Names, codes and
/// values have capitals, digits or an `=` before them.
std::string plain_words(std::string_view text) {
  std::string words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, end - at);
    while (!word.empty() && !is_alpha(word.back())) word.remove_suffix(1);
    const bool plain = !word.empty() && std::ranges::all_of(word.substr(1), is_lower) &&
                       (is_lower(word[0]) || (at == 0 && is_alpha(word[0])));
    if (plain) words.append(ascii_lower(word)).append(" ");
    at = end + 1;
  }
  return words;
}

std::vector<StackFrame> first_frames(const std::vector<StackFrame>& frames, bool own_only) {
  std::vector<StackFrame> chosen;
  for (const StackFrame& frame : frames) {
    if (own_only && frame.library) continue;
    if (chosen.size() < frames_compared) chosen.push_back(frame);
  }
  return chosen;
}

/// Never empty, one line, short enough for a list.
std::string title(std::string text, std::string_view otherwise) {
  if (text.empty()) text = otherwise;
  if (text.size() <= title_limit) return text;
  std::size_t cut = title_limit;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80) --cut;
  return text.substr(0, cut) + "…";
}

std::string joined(std::string_view a, std::string_view between, std::string_view b) {
  if (a.empty()) return std::string(b);
  return b.empty() ? std::string(a) : std::string(a).append(between).append(b);
}

/// What every step but the last has in common.
FieldHash begin(std::string_view basis, const Failure& failure, const Root& root,
                std::string_view event_type) {
  FieldHash hash;
  hash.field(basis);
  hash.field(event_type);
  hash.field(root.type);
  hash.field(normalise(failure.code));
  hash.number(static_cast<std::uint64_t>(failure.status.value_or(0)));
  return hash;
}

Fingerprint by_frames(const Failure& failure, const Root& root, std::string_view event_type,
                      const std::vector<StackFrame>& frames, std::string_view text) {
  FieldHash hash = begin("frames", failure, root, event_type);
  hash.number(frames.size());
  for (const StackFrame& frame : frames) hash.field(frame.function);
  hash.field(text);
  const std::string_view what = root.type.empty() ? std::string_view("Error") : root.type;
  return {hash.id(), title(joined(what, " in ", to_utf8(frames.front().function)), ""), "frames"};
}

std::string type_title(const Failure& failure, const Root& root) {
  std::string text = joined(root.type, " ", normalise(failure.code));
  if (failure.status) text = joined(text, " ", "HTTP " + std::to_string(*failure.status));
  return text;
}

}  // namespace

Fingerprint fingerprint_of(const Failure& failure, std::string_view event_type,
                           std::string_view reason) {
  const StackReading stack = read_stack(failure.stack);
  const Root root = root_of(failure, stack);

  if (const auto own = first_frames(stack.frames, true); !own.empty()) {
    const bool raised_by_library = stack.frames.front().library;
    return by_frames(failure, root, event_type, own,
                     raised_by_library ? root.text : plain_words(root.text));
  }
  if (has_words(root.text)) {
    FieldHash hash = begin("text", failure, root, event_type);
    hash.field(root.text);
    return {hash.id(), title(joined(root.type, ": ", root.text), ""), "text"};
  }
  if (const auto any = first_frames(stack.frames, false); !any.empty()) {
    return by_frames(failure, root, event_type, any, "");
  }
  if (std::string text = type_title(failure, root); !text.empty()) {
    return {begin("type", failure, root, event_type).id(), title(std::move(text), ""), "type"};
  }
  FieldHash hash;
  const bool has_event = !event_type.empty();
  hash.field(has_event ? "event" : "reason");
  hash.field(event_type);
  hash.field(normalise(reason));
  return {hash.id(),
          title(joined(to_utf8(event_type), ": ", normalise(reason)), "Failed without an error"),
          has_event ? "event" : "reason"};
}

}  // namespace dlo
