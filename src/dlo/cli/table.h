#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/cli/context.h"

namespace dlo::cli {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  bool flexible = false;  // gives way when the terminal is narrow
  /// The colour of a cell; only on a terminal.
  std::string_view (*colour)(std::string_view cell) = nullptr;
  bool optional = false;  // left out, the last first, where the terminal is too narrow for all
};

/// Rows under titles, columns as wide as they need to be. Control characters are shown as `·`, so
/// that hostile text cannot move the cursor or colour the screen.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }

  /// `width` 0: nothing is cut; a cell of more than 64 columns pushes those behind it in its row.
  /// Else whatever is widest gives way: columns of more than 40 first, so that one absurd value
  /// cannot fill the screen.
  void print(std::ostream& out, std::size_t width, bool colour = false) const;
  void print_csv(std::ostream& out) const;

 private:
  /// Zero: the column is left out.
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t limit) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// One line of CSV.
void print_csv_row(std::ostream& out, const std::vector<std::string>& cells);

/// As the format asks: CSV, or columns for people; `wide` ones are never cut.
void print(Context& context, const Table& table);

/// Escape sequences of colours; `plain` ends each of them.
namespace paint {
inline constexpr std::string_view plain = "\x1b[0m";
inline constexpr std::string_view bold = "\x1b[1m";
inline constexpr std::string_view dim = "\x1b[2m";
inline constexpr std::string_view red = "\x1b[31m";
inline constexpr std::string_view green = "\x1b[32m";
inline constexpr std::string_view yellow = "\x1b[33m";
}  // namespace paint
/// Of records, groups, jobs and checks alike: red is trouble, yellow waits for somebody.
[[nodiscard]] std::string_view colour_of_status(std::string_view status);

/// Control characters and broken UTF-8 replaced, so that it is safe on a terminal.
[[nodiscard]] std::string printable(std::string_view text);
/// How many terminal columns `text` takes (one for each code point).
[[nodiscard]] std::size_t display_width(std::string_view text) noexcept;
/// At most `columns` wide, ending in `…` if it was cut.
[[nodiscard]] std::string cut(std::string_view text, std::size_t columns);

}  // namespace dlo::cli
