#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/store/query.h"

namespace dlo {

/// What could stand at a place of a query text.
struct Suggestion {
  std::string text;         // as it is written into the query: quoted where it must be
  std::string about;        // for people; may be empty
  std::uint64_t count = 0;  // how many records have this value; 0 where nobody counts
  bool operator==(const Suggestion&) const = default;
};

struct Suggestions {
  std::size_t from = 0;  // bytes [from, to) of the text are what a suggestion replaces
  std::size_t to = 0;
  std::vector<Suggestion> items;
};

inline constexpr std::size_t most_suggestions = 20;

/// What could follow at byte `cursor` of `text`: qualifiers that begin like the word there, or
/// values of the qualifier there, the commonest first. Sources, categories and groups are those of
/// `numbers` (tallies and groups asked for). Never refuses: where nothing is known nothing is
/// suggested. Linear in the text and the numbers.
[[nodiscard]] Suggestions suggest(std::string_view text, std::size_t cursor,
                                  const Aggregate& numbers);

}  // namespace dlo
