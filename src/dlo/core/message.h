#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/time.h"

namespace dlo {

/// What kind of value a header carried on the wire, so that a replay can send it unchanged.
enum class HeaderType : std::uint8_t {
  text,
  bytes,
  boolean,     // "true" | "false"
  integer,     // decimal
  real,        // shortest decimal that reads back as the same double
  timestamp,   // milliseconds since 1970, decimal
  null,        // no value; `value` is empty
  structured,  // tables and arrays, in the encoding of the broker it came from
};

struct Header {
  std::string name;
  std::string value;
  HeaderType type = HeaderType::text;
  bool operator==(const Header&) const = default;
};

/// Order and duplicates are kept: brokers give both a meaning.
using Headers = std::vector<Header>;

/// The last value under `name` (ASCII case ignored), as every known consumer reads repeats.
[[nodiscard]] const Header* find_header(const Headers& headers, std::string_view name) noexcept;

/// Where a message stood in a source whose places are stable: a partition and an offset. One
/// position is one message for ever: where a log can be deleted and made anew, `partition` must
/// name its incarnation as well, or new messages would be taken for repeats of old ones.
struct Position {
  std::string partition;
  std::int64_t offset = 0;
  bool operator==(const Position&) const = default;
};

enum class Priority : std::uint8_t { low, normal, high };

/// One step of a durable workflow.
struct Activity {
  std::string name;
  std::uint64_t id = 0;
  bool operator==(const Activity&) const = default;
};

/// Whose work a message is, in a durable runtime (S3-10, S3-11). Without `activity` it is an
/// orchestration item.
struct Owner {
  std::string instance;
  std::uint64_t execution = 0;
  std::optional<Activity> activity;
  std::string parent;  // the instance to be told when this one fails; empty if none
  bool operator==(const Owner&) const = default;
};

/// A live unit of work. A value: copied into nothing, shared read-only as `MessagePtr`.
struct Message {
  std::string id;  // as its producer named it; empty if it did not
  std::string source;
  std::optional<Position> position;
  std::string event_type;
  std::string key;  // messages of one key keep their order, where order is asked for
  std::string correlation_id;
  std::string content_type;
  Headers headers;
  std::optional<std::string> payload;  // bytes; null and empty are different things
  TimePoint enqueued_at{};
  std::optional<TimePoint> expires_at;
  Priority priority = Priority::normal;
  std::optional<Owner> owner;
  bool operator==(const Message&) const = default;
};

using MessagePtr = std::shared_ptr<const Message>;

}  // namespace dlo
