#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"

namespace dlo::outbox {

/// Which column of an outbox table says what. Empty: none does.
struct Columns {
  std::string id;          // unique, never null
  std::string order;       // rows go out by it, then by id; empty: by id alone
  std::string key;         // rows of one key go out one after the other
  std::string type;        // the event type
  std::string payload;     // of any type; bytea as it is, anything else as its text
  std::string headers;     // a JSON object
  std::string message_id;  // unique; empty: made of the outbox's name and the id
  std::string correlation_id;
  std::string content_type;
  std::string destination;  // `{destination}` of a target
  std::string created_at;
  std::string expires_at;  // after that it is not sent any more
  std::string not_before;  // until then it is not there
  std::string attempts;    // that failed
  std::string due_at;      // the next one
  std::string first_attempt_at;
  std::string last_error;
  std::string trail;        // bytea: earlier attempts in brief
  std::string done_at;      // null: still to be sent
  std::string dead_letter;  // the record of a row that could not be sent
  bool operator==(const Columns&) const = default;
};

/// The names by which a configuration speaks of them.
struct Role {
  std::string_view name;
  std::string Columns::* column;
};
[[nodiscard]] std::span<const Role> roles() noexcept;

/// What a row must look like to be sent, besides `done_at`.
struct Condition {
  std::string column;
  std::vector<std::string> one_of;  // as the text of its value; none: anything but null
  bool operator==(const Condition&) const = default;
};

/// A payload column that holds more than the payload: a JSON object with both.
struct Wrapping {
  std::string payload;     // the member that is sent; empty: nothing is wrapped
  std::string headers;     // the member that holds the headers
  std::string message_id;  // the header that is the message's id
  bool operator==(const Wrapping&) const = default;
};

/// What becomes of a row that was sent, besides `done_at`.
struct Setting {
  enum class To : std::uint8_t { text, in_a_day };
  std::string column;
  To to = To::text;
  std::string text{};
  bool operator==(const Setting&) const = default;
};

/// What somebody's outbox table is like. A value: another table is another value, not another code.
struct Shape {
  std::string name;
  std::string summary;
  std::string schema = "public";
  std::string table;
  Columns columns;
  std::vector<std::string> needed;  // roles a table cannot do without; others it may lack
  std::vector<Condition> pending;
  std::vector<Setting> done;  // none, and no `done_at`: the row is deleted
  std::vector<Setting> dead;  // none: as `done`
  Wrapping wrapping{};
  std::string id_header;  // a header that repeats the message id; empty: none
  bool operator==(const Shape&) const = default;

  [[nodiscard]] bool deletes() const noexcept { return done.empty() && columns.done_at.empty(); }
};

/// own, debezium, masstransit, cap, wolverine.
[[nodiscard]] const std::vector<Shape>& shapes();
/// Refuses an unknown name with the valid ones and the nearest spelling.
[[nodiscard]] Result<Shape> find_shape(std::string_view name);

/// The same shape with another table: `table` or `schema.table`, as they are spelt in the database
/// (quotes are added, none are taken away).
[[nodiscard]] Result<void> set_table(Shape& shape, std::string_view table);
/// The same with another column. The table must have it, unless it is `none`. Refuses what is no
/// role with the valid ones and the nearest spelling.
[[nodiscard]] Result<void> set_column(Shape& shape, std::string_view role, std::string_view column);

/// The statements that make a table of shape `own`, for people to run.
[[nodiscard]] std::string own_table_sql(const Shape& shape);

/// A name as it stands in SQL, whatever is in it: quoted, quotes in it doubled.
[[nodiscard]] std::string quoted(std::string_view name);
/// A text as it stands in SQL. Neither backslashes nor quotes in it end it.
[[nodiscard]] std::string literal(std::string_view text);
/// Whether it can be a name at all: 1 to 63 bytes of UTF-8 without NUL.
[[nodiscard]] bool is_name(std::string_view name) noexcept;

}  // namespace dlo::outbox
