#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dlo/core/message.h"
#include "dlo/core/time.h"
#include "dlo/outbox/shape.h"
#include "dlo/postgres/rows.h"

namespace dlo::outbox {

/// What is known of a row that could not be sent yet.
struct Failures {
  std::uint32_t attempts = 0;
  std::optional<TimePoint> due;  // the next; none: now
  std::optional<TimePoint> first_attempt_at;
  std::string last_error;
  std::string trail;
  bool operator==(const Failures&) const = default;
};

/// One row as it was read.
struct Row {
  std::string id;  // as a text
  std::string key;
  std::string destination;
  MessagePtr message;
  Failures failures;
};

/// `outbox` is its name in the configuration: ids of rows are unique in their table only.
[[nodiscard]] Row row_of(const postgres::Row& read, const Shape& shape, const std::string& outbox);

/// Headers as a table holds them: the members of a JSON object, in order. What is no text is kept
/// as its JSON; what is no object becomes one header, `outbox-headers`.
[[nodiscard]] Headers headers_of(const std::string& json);

/// Where the dead letters of a row are said to come from (S1-3).
[[nodiscard]] std::string source_of(const std::string& event_type, const std::string& outbox);

/// `{type}`, `{key}` and `{destination}` of a target replaced by what the row says, `/` and `%` in
/// it escaped.
[[nodiscard]] std::string target_of(const std::string& pattern, const Row& row);

}  // namespace dlo::outbox
