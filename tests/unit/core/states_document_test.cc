// docs/states.md promises to be the whole truth about transitions. It is read here.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/states.h"

namespace dlo {
namespace {

namespace fs = std::filesystem;
using Moves = std::set<std::pair<std::string, std::string>>;

/// The repository this program was built in: the first folder above it that has docs/states.md.
fs::path document() {
  for (fs::path folder = fs::read_symlink("/proc/self/exe"); folder.has_relative_path();) {
    folder = folder.parent_path();
    if (fs::exists(folder / "docs" / "states.md")) return folder / "docs" / "states.md";
  }
  return {};
}

/// The words in backticks of one table cell.
std::vector<std::string> names_in(const std::string& cell) {
  std::vector<std::string> names;
  for (std::size_t from = cell.find('`'); from != std::string::npos;) {
    const std::size_t to = cell.find('`', from + 1);
    if (to == std::string::npos) break;
    names.push_back(cell.substr(from + 1, to - from - 1));
    from = cell.find('`', to + 1);
  }
  return names;
}

/// Rows `| from | to | when |` below the heading "Every transition".
Moves documented_moves(std::istream& text) {
  Moves moves;
  bool in_table = false;
  for (std::string line; std::getline(text, line);) {
    in_table = in_table || line == "## Every transition";
    if (!in_table || !line.starts_with("| `")) continue;
    const std::size_t second = line.find('|', 1);
    const std::size_t third = line.find('|', second + 1);
    for (const auto& from : names_in(line.substr(0, second))) {
      for (const auto& to : names_in(line.substr(second, third - second))) {
        moves.emplace(from, to);
      }
    }
  }
  return moves;
}

TEST(StatesDocument, ListsExactlyTheLegalTransitions) {
  std::ifstream file(document());
  ASSERT_TRUE(file) << "docs/states.md was not found above the test program";
  const Moves documented = documented_moves(file);

  Moves legal;
  for (const Status from : all_statuses()) {
    for (const Status to : all_statuses()) {
      if (from != to && is_legal(from, to)) legal.emplace(name_of(from), name_of(to));
    }
  }
  for (const auto& [from, to] : legal) {
    EXPECT_TRUE(documented.contains({from, to}))
        << from << " -> " << to << " is legal but not in the document";
  }
  for (const auto& [from, to] : documented) {
    EXPECT_TRUE(legal.contains({from, to}))
        << from << " -> " << to << " is in the document but not legal";
  }
}

}  // namespace
}  // namespace dlo
