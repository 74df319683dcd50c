#include "dlo/repair/text_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dlo {
namespace {

constexpr std::size_t context = 3;

using Lines = std::vector<std::string_view>;

/// Lines with their ends, so that a missing last one is a difference.
Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

enum class Mark : char { same = ' ', gone = '-', come = '+' };
struct Step {
  Mark mark;
  std::string_view line;
};

/// The longest common subsequence by the table; `most_compared_lines` bounds its size.
void compare_middle(const Lines& a, const Lines& b, std::vector<Step>& out) {
  if (a.size() > most_compared_lines || b.size() > most_compared_lines) {
    for (const auto line : a) out.push_back({Mark::gone, line});
    for (const auto line : b) out.push_back({Mark::come, line});
    return;
  }
  const std::size_t width = b.size() + 1;
  std::vector<std::uint16_t> longest((a.size() + 1) * width, 0);
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      longest[i * width + j] =
          a[i] == b[j] ? static_cast<std::uint16_t>(longest[(i + 1) * width + j + 1] + 1)
                       : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      out.push_back({Mark::same, a[i++]});
      ++j;
    } else if (j == b.size() ||
               (i < a.size() && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      out.push_back({Mark::gone, a[i++]});
    } else {
      out.push_back({Mark::come, b[j++]});
    }
  }
}

std::vector<Step> compare(const Lines& a, const Lines& b) {
  std::size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  std::size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
    ++tail;
  }
  const auto part = [](const Lines& lines, std::size_t from, std::size_t count) {
    const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(from);
    return Lines(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  std::vector<Step> steps;
  for (const auto line : part(a, 0, head)) steps.push_back({Mark::same, line});
  compare_middle(part(a, head, a.size() - head - tail), part(b, head, b.size() - head - tail),
                 steps);
  for (const auto line : part(a, a.size() - tail, tail)) steps.push_back({Mark::same, line});
  return steps;
}

std::string range_text(std::size_t before, std::size_t count) {
  const std::size_t first = count == 0 ? before : before + 1;
  return std::to_string(first) + (count == 1 ? "" : "," + std::to_string(count));
}

/// Writes steps `from` to `to` as one hunk; `a` and `b` are the lines before it on either side.
void write_hunk(const std::vector<Step>& steps, std::size_t from, std::size_t to, std::size_t a,
                std::size_t b, std::string& out) {
  std::size_t in_a = 0;
  std::size_t in_b = 0;
  for (std::size_t i = from; i < to; ++i) {
    in_a += steps[i].mark != Mark::come ? 1 : 0;
    in_b += steps[i].mark != Mark::gone ? 1 : 0;
  }
  out += "@@ -" + range_text(a, in_a) + " +" + range_text(b, in_b) + " @@\n";
  for (std::size_t i = from; i < to; ++i) {
    out += static_cast<char>(steps[i].mark);
    out += steps[i].line;
    if (!steps[i].line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
  }
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after,
                         std::string_view before_name, std::string_view after_name) {
  if (before == after) return {};
  const std::vector<Step> steps = compare(lines_of(before), lines_of(after));
  std::string out = "--- " + std::string(before_name) + "\n+++ " + std::string(after_name) + "\n";
  std::size_t a = 0;  // lines of either side before `from`
  std::size_t b = 0;
  std::size_t from = 0;
  const auto advance = [&](std::size_t to) {
    for (; from < to; ++from) {
      a += steps[from].mark != Mark::come ? 1 : 0;
      b += steps[from].mark != Mark::gone ? 1 : 0;
    }
  };
  for (std::size_t i = 0; i < steps.size();) {
    if (steps[i].mark == Mark::same) {
      ++i;
      continue;
    }
    advance(i > context + from ? i - context : from);
    std::size_t to = i;  // behind the last change that is near enough
    for (std::size_t k = i; k < steps.size() && k <= to + 2 * context; ++k) {
      if (steps[k].mark != Mark::same) to = k + 1;
    }
    const std::size_t end = std::min(steps.size(), to + context);
    write_hunk(steps, from, end, a, b, out);
    advance(end);
    i = end;
  }
  return out;
}

}  // namespace dlo
