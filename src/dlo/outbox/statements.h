#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/outbox/shape.h"

namespace dlo::outbox {

/// Keys are dealt out to relays by the hundredth or so: who owns a bucket sends its keys. A number
/// all relays of a table agree on.
inline constexpr std::int64_t buckets = 64;

/// Columns of a table as the server has them: names and types.
using TableFacts = std::map<std::string, std::string>;

/// What is said to a server about one table. Every name is quoted; every value is a parameter or a
/// quoted literal. Ids are texts: their type is the table's.
struct Statements {
  /// $1 buckets, $2 ids and $3 keys to be left alone, $4 rows at most, $5 bytes at most, $6 now in
  /// milliseconds. Rows in the order in which they go out, columns as `Read` has them.
  std::string read;
  /// $1 ids: they are sent.
  std::string done;
  /// The same, but rows that somebody has locked are left: slower, and waits for nobody.
  std::string done_free;
  /// $1 ids, $2 their records: they are dead letters. Rows that somebody has locked are left.
  std::string dead;
  /// $1 ids: which of them are still to be sent.
  std::string left;
  /// $1 id, $2 attempts, $3 the next, $4 the first (both in milliseconds), $5 the error, $6 the
  /// trail. Empty: the table has no column for attempts, so somebody else keeps them.
  std::string failed;
};

/// Columns of `Statements::read`, in this order; what a table lacks is null.
enum class Read : std::uint8_t {
  id,
  key,
  type,
  payload,
  headers,
  message_id,
  correlation_id,
  content_type,
  destination,
  created_at,
  expires_at,
  attempts,
  due_at,
  first_attempt_at,
  last_error,
  trail,
};

/// The shape as this very table has it: optional columns that it lacks are gone. Refused, with what
/// is missing, if one is needed.
[[nodiscard]] Result<Shape> fit(Shape shape, const TableFacts& facts);

/// `shape` must fit.
[[nodiscard]] Statements statements_of(const Shape& shape, const TableFacts& facts);

}  // namespace dlo::outbox
