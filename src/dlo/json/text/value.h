#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/json/text/scanner.h"

namespace dlo {

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };
[[nodiscard]] std::string_view name_of(JsonKind kind) noexcept;

struct JsonMember;

/// A JSON value as a tree. Numbers stay the text they were; views point into the text that was
/// parsed, which must outlive the value.
struct JsonValue {
  JsonKind kind = JsonKind::null;
  std::string_view raw;             // the value as it stands in the text
  std::vector<JsonValue> items;     // of an array
  std::vector<JsonMember> members;  // of an object, in order, repeats kept

  /// The last member of that name, or null.
  [[nodiscard]] const JsonValue* find(std::string_view name) const noexcept;
  /// What a string says. Empty for other kinds.
  [[nodiscard]] std::string text() const;
  /// A whole number that fits, else nothing: never rounded.
  [[nodiscard]] std::optional<std::int64_t> to_int64() const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> to_uint64() const noexcept;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

/// Refuses what is not exactly one JSON value, with the place of the mistake.
[[nodiscard]] Result<JsonValue> parse_json(std::string_view text, std::size_t deepest = json_depth);

/// A place inside a JSON value: `order.items.0.sku`, or a JSON pointer (RFC 6901) where names hold
/// dots: `/order/items/0/a.b`. A number steps into arrays and is a name in objects.
struct JsonPath {
  std::string text;  // as it was given
  std::vector<std::string> steps;

  /// Refuses an empty path and empty steps of the dotted form.
  [[nodiscard]] static Result<JsonPath> parse(std::string_view text);
};

/// What stands at a path; nothing there: no value. Of repeated keys the last one counts.
struct JsonFound {
  std::optional<JsonKind> kind;
  std::string_view raw;  // scalars only
};

/// Looks up all `paths` in one pass without building anything. `text` must be valid JSON up to
/// what the paths need; an answer for invalid text is meaningless but harmless.
[[nodiscard]] std::vector<JsonFound> find_paths(std::string_view text,
                                                const std::vector<JsonPath>& paths,
                                                std::size_t deepest = json_depth);

}  // namespace dlo
