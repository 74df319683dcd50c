#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace dlo::cli {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  bool flexible = false;  // gives way when the terminal is narrow
};

/// Rows under titles, columns as wide as they need to be. Control characters are shown as `·`, so
/// that hostile text cannot move the cursor or colour the screen.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }

  /// `width` 0: as wide as needed.
  void print(std::ostream& out, std::size_t width) const;
  void print_csv(std::ostream& out) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t limit) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Control characters and broken UTF-8 replaced, so that it is safe on a terminal.
[[nodiscard]] std::string printable(std::string_view text);
/// How many terminal columns `text` takes (one for each code point).
[[nodiscard]] std::size_t display_width(std::string_view text) noexcept;
/// At most `columns` wide, ending in `…` if it was cut.
[[nodiscard]] std::string cut(std::string_view text, std::size_t columns);

}  // namespace dlo::cli
