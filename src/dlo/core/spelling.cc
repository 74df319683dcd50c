#include "dlo/core/spelling.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dlo {
namespace {

constexpr std::size_t longest_compared = 64;

/// Optimal string alignment: insert, delete, replace, swap neighbours.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return ascii_lower(c); });
  return lower;
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > longest_compared) return {};
  const std::string given = ascii_lower(name);
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > longest_compared) continue;
    const std::size_t edits = edits_between(given, ascii_lower(candidate));
    if (edits < fewest && edits < candidate.size()) {
      fewest = edits;
      best = candidate;
    }
  }
  return best;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 80;
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  out += text.size() > longest ? "...\"" : "\"";
  return out;
}

std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string_view> valid) {
  std::string text = "unknown ";
  text += what;
  text += ' ';
  text += in_quotes(name);
  if (const std::string_view guess = nearest(name, valid); !guess.empty()) {
    text += ": did you mean ";
    text += in_quotes(guess);
    text += '?';
  } else {
    text += '.';
  }
  text += " Valid: ";
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (i != 0) text += ", ";
    text += valid[i];
  }
  return text;
}

}  // namespace dlo
