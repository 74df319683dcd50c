#include "dlo/core/fingerprint.h"

#include <algorithm>
#include <vector>

#include "dlo/core/byte_class.h"
#include "dlo/core/encoding.h"
#include "dlo/core/field_hash.h"
#include "dlo/core/spelling.h"
#include "dlo/core/stack.h"

namespace dlo {
namespace {

constexpr std::size_t frames_compared = 3;
constexpr std::size_t title_limit = 160;

using byte_class::is_alpha;
using byte_class::is_digit;
using byte_class::is_hex;

constexpr bool is_lower(char c) noexcept {
  return c >= 'a' && c <= 'z';
}

std::size_t run_of(std::string_view text, std::size_t at, bool (*belongs)(char)) {
  std::size_t end = at;
  while (end < text.size() && belongs(text[end])) ++end;
  return end - at;
}

/// Types and codes are names: a number in one says which it is (E11000, 23505, 0x80070005), unless
/// the run-time drew it ($Proxy17, Lambda$14/0x0000000800066840).
std::string normalise_name(std::string_view text) {
  constexpr std::size_t longest_code = 8;
  if (text.empty()) return {};
  const bool hex_code = text.starts_with("0x") && run_of(text, 2, is_hex) + 2 == text.size() &&
                        text.size() <= longest_code + 2;
  if (hex_code) return std::string(text);
  std::string folded = normalise(text);
  if (text.find_first_of(" \t\n") != std::string_view::npos) return folded;
  const bool has_mark = folded.find('<') != std::string::npos;
  for (const char* drawn : {"<id>", "<time>", "<text>", "<ip>", "<path>", "<email>"}) {
    if (has_mark && folded.find(drawn) != std::string::npos) return folded;
  }
  text = text.substr(0, normalised_text_limit);
  if (std::ranges::none_of(text, is_digit)) return to_utf8(text);
  std::string name;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view before = text.substr(0, at);
    const bool counted = before.ends_with('$') || before.ends_with("$Proxy");
    const std::size_t digits = run_of(text, at, is_digit);
    const bool hex = text.substr(at).starts_with("0x");
    const std::size_t address = hex ? run_of(text, at + 2, is_hex) : 0;
    if (counted && digits > 0) {
      name += "<n>";
      at += digits;
    } else if (address > longest_code) {
      name += "<n>";
      at += 2 + address;
    } else {
      name += text[at++];
    }
  }
  return to_utf8(name);
}

struct Root {
  std::string type;  // normalised
  std::string text;  // normalised
};

Root root_of(const Failure& failure, const StackReading& stack) {
  if (!failure.causes.empty()) {
    const Cause& last = failure.causes.back();
    return {normalise_name(last.type), normalise(last.text)};
  }
  if (!stack.root_type.empty()) {
    return {normalise_name(stack.root_type), normalise(stack.root_text)};
  }
  return {normalise_name(failure.type), normalise(failure.text)};
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
  hash.field(normalise_name(failure.code));
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
  std::string text = joined(root.type, " ", normalise_name(failure.code));
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
