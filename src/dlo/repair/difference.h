#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/json/writer.h"

namespace dlo {

/// What a version of a message says: all that an edit or a recipe may change.
struct Draft {
  Headers headers;
  std::optional<std::string> payload;
  bool operator==(const Draft&) const = default;
};

/// A header that came, went or changed. All values of that name, in order, as one text each.
struct HeaderChange {
  std::string name;
  std::optional<std::string> before;
  std::optional<std::string> after;
  bool operator==(const HeaderChange&) const = default;
};

/// A place in a JSON payload that came, went or changed, with its JSON text.
struct PathChange {
  std::string path;  // a JSON pointer
  std::optional<std::string> before;
  std::optional<std::string> after;
  bool operator==(const PathChange&) const = default;
};

/// How two drafts differ: by header; and of the payload by path where both are JSON, by line where
/// both are text, else only in that they do.
struct Difference {
  std::vector<HeaderChange> headers;
  bool payload_differs = false;
  std::vector<PathChange> paths;  // at most `most_paths`
  bool more_paths = false;
  std::string unified;
};
inline constexpr std::size_t most_paths = 1'000;

[[nodiscard]] Difference difference_of(const Draft& before, const Draft& after);
[[nodiscard]] std::vector<PathChange> path_changes(std::string_view before, std::string_view after,
                                                   bool& more);
void write_json(JsonWriter& json, const Difference& difference);

}  // namespace dlo
