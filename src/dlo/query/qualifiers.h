#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dlo/store/query.h"

namespace dlo::query {

/// How the value of a qualifier is read.
enum class Kind : std::uint8_t {
  status,
  text,   // one of several texts
  id,     // record ids
  group,  // group ids
  words,  // `field` says of which text
  tag,
  header,  // header.NAME
  body,    // body.PATH
  age,     // how long ago it died
  died,    // when it died
  next_retry,
  resolved,
  attempts,
  replays,
  unsettled,
  change,
  order,
};

struct Qualifier {
  std::string_view name;  // `header.` and `body.` with their dot
  Kind kind;
  Field field;  // of texts and words
  std::string_view about;
  std::string_view example;  // a value
};

/// Every qualifier there is, in the order of docs/query.md.
[[nodiscard]] std::span<const Qualifier> qualifiers() noexcept;
/// By exact name.
[[nodiscard]] const Qualifier* find_qualifier(std::string_view name) noexcept;
[[nodiscard]] const Qualifier* qualifier_of(Field field) noexcept;
/// What is said to a name nobody knows, or that belongs elsewhere.
[[nodiscard]] std::string unknown_qualifier(std::string_view name);

/// The field of a query that a single text goes into; null for fields that have none.
[[nodiscard]] std::optional<std::string>* single_text(Query& query, Field field) noexcept;

/// `open` and the names of all statuses.
[[nodiscard]] std::span<const std::string_view> status_names() noexcept;

}  // namespace dlo::query
