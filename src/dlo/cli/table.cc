#include "dlo/cli/table.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <ostream>

#include "dlo/core/encoding.h"

namespace dlo::cli {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t narrowest = 8;
constexpr std::size_t longest = 40;   // of any other column where all do not fit; ids have 32
constexpr std::size_t padded = 64;    // a longer cell is no reason to move those of other rows
constexpr std::size_t readable = 24;  // of a column that can give way: others are left out first

struct Range {
  char32_t first;
  char32_t last;
};
// What takes two columns of a terminal, and what takes none: the blocks of Unicode that people
// write in, not every sign of them.
constexpr auto twice = std::to_array<Range>({{0x1100, 0x115F},
                                             {0x2E80, 0x303E},
                                             {0x3041, 0x33FF},
                                             {0x3400, 0x4DBF},
                                             {0x4E00, 0xA4CF},
                                             {0xA960, 0xA97F},
                                             {0xAC00, 0xD7A3},
                                             {0xF900, 0xFAFF},
                                             {0xFE30, 0xFE6F},
                                             {0xFF00, 0xFF60},
                                             {0xFFE0, 0xFFE6},
                                             {0x1F300, 0x1F64F},
                                             {0x1F680, 0x1F6FF},
                                             {0x1F900, 0x1FAFF},
                                             {0x20000, 0x3FFFD}});
constexpr auto unseen = std::to_array<Range>(
    {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}});

std::size_t width_of(char32_t sign) noexcept {
  const auto holds = [sign](const Range& each) { return sign >= each.first && sign <= each.last; };
  if (sign < 0x0300) return 1;
  if (std::any_of(unseen.begin(), unseen.end(), holds)) return 0;
  return std::any_of(twice.begin(), twice.end(), holds) ? 2 : 1;
}

/// One sign of a text: how long it is, and how wide. What is not UTF-8 is taken byte by byte.
struct Sign {
  std::size_t length = 1;
  std::size_t width = 1;
};
Sign sign_at(std::string_view text, std::size_t at) noexcept {
  const std::size_t length = std::max<std::size_t>(utf8_length(text, at), 1);
  const auto lead = static_cast<unsigned char>(text[at]);
  if (length == 1) return {};
  char32_t sign = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    sign = sign << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  return {length, width_of(sign)};
}

std::string quoted(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(cell);
  std::string text = "\"";
  for (const char c : cell) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

}  // namespace

std::string printable(std::string_view text) {
  const std::string whole = to_utf8(text);
  std::string safe;
  safe.reserve(whole.size());
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t length = utf8_length(whole, at);
    const auto byte = static_cast<unsigned char>(whole[at]);
    // C1 controls (U+0080..U+009F) act like escape sequences on some terminals.
    const bool c1 =
        length == 2 && byte == 0xC2U && static_cast<unsigned char>(whole[at + 1]) < 0xA0U;
    if (byte < 0x20U || byte == 0x7FU || c1) {
      safe += byte == '\n' || byte == '\t' ? " " : "·";
    } else {
      safe.append(whole, at, length);
    }
    at += length;
  }
  return safe;
}

std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Sign sign = sign_at(text, at);
    width += sign.width;
    at += sign.length;
  }
  return width;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t at = 0;
  for (std::size_t width = 0; at < text.size();) {
    const Sign sign = sign_at(text, at);
    width += sign.width;
    if (width + 1 > columns) break;
    at += sign.length;
  }
  return std::string(text.substr(0, at)) + "…";
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths(std::size_t limit) const {
  std::vector<std::size_t> wide;
  for (const Column& column : columns_) wide.push_back(display_width(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      wide[i] = std::max(wide[i], display_width(printable(row[i])));
    }
  }
  if (limit == 0) {
    for (std::size_t& each : wide) each = std::min(each, padded);
    return wide;
  }
  std::size_t total = std::accumulate(wide.begin(), wide.end(), gap * (wide.size() - 1));
  const auto narrow = [&](std::size_t i, std::size_t least) {
    if (wide[i] <= least || total <= limit) return;
    const std::size_t less = std::min(total - limit, wide[i] - least);
    wide[i] -= less;
    total -= less;
  };
  for (std::size_t i = columns_.size(); i-- > 0;) {
    if (!columns_[i].flexible) narrow(i, longest);
  }
  std::size_t spare = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].flexible) spare += wide[i] - std::min(wide[i], readable);
  }
  for (std::size_t i = columns_.size(); i-- > 0 && total > limit + spare;) {
    if (!columns_[i].optional) continue;
    total -= wide[i] + gap;
    wide[i] = 0;
  }
  for (std::size_t i = columns_.size(); i-- > 0;) {
    if (columns_[i].flexible) narrow(i, narrowest);
  }
  return wide;
}

void Table::print(std::ostream& out, std::size_t width, bool colour) const {
  const auto wide = widths(width);
  const auto line = [&](const std::vector<std::string>& cells, bool title) {
    std::string whole;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (wide[i] == 0) continue;
      std::string text = printable(cells[i]);
      if (width > 0) text = cut(text, wide[i]);
      const std::size_t rest = wide[i] - std::min(wide[i], display_width(text));
      if (columns_[i].align == Align::right) whole.append(rest, ' ');
      std::string_view chosen;
      if (colour && title) chosen = paint::bold;
      if (colour && !title && columns_[i].colour != nullptr) chosen = columns_[i].colour(text);
      whole.append(chosen).append(text).append(chosen.empty() ? "" : paint::plain);
      whole.append(gap + (columns_[i].align == Align::left ? rest : 0), ' ');
    }
    whole.resize(whole.find_last_not_of(' ') + 1);
    out << whole << '\n';
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  line(titles, true);
  for (const auto& row : rows_) line(row, false);
}

void print_csv_row(std::ostream& out, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) out << (i == 0 ? "" : ",") << quoted(cells[i]);
  out << "\r\n";
}

void Table::print_csv(std::ostream& out) const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  print_csv_row(out, titles);
  for (const auto& row : rows_) print_csv_row(out, row);
}

void print(Context& context, const Table& table) {
  if (context.format == Format::csv) return table.print_csv(context.out);
  table.print(context.out, context.format == Format::wide ? 0 : context.width, context.colour);
}

std::string_view colour_of_status(std::string_view status) {
  constexpr std::array<std::string_view, 8> trouble = {
      "exhausted", "quarantined", "failed", "fail", "stopped", "returned", "expired", "regressed"};
  constexpr std::array<std::string_view, 8> waits = {"pending", "retrying", "replaying", "open",
                                                     "running", "paused",   "warn",      "planned"};
  constexpr std::array<std::string_view, 6> good = {"resolved", "replayed", "done",
                                                    "ok",       "verified", "presumed"};
  const auto is_in = [status](const auto& names) {
    return std::find(names.begin(), names.end(), status) != names.end();
  };
  if (is_in(trouble)) return paint::red;
  if (is_in(waits)) return paint::yellow;
  return is_in(good) ? paint::green : paint::dim;
}

}  // namespace dlo::cli
