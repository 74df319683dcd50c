#include "dlo/outbox/statements.h"

#include <algorithm>

namespace dlo::outbox {
namespace {

/// Writes the statements of one table, which it calls `t`.
class Author {
 public:
  Author(const Shape& shape, const TableFacts& facts)
      : shape_(shape),
        columns_(shape.columns),
        facts_(facts),
        table_(quoted(shape.schema) + "." + quoted(shape.table)),
        id_type_(facts.at(shape.columns.id)) {}

  [[nodiscard]] Statements all() const {
    return {read(), done(), done_free(), dead(), left(), columns_.attempts.empty() ? "" : failed()};
  }

 private:
  [[nodiscard]] static std::string of(const char* row, const std::string& column) {
    return std::string(row) + "." + quoted(column);
  }

  /// A row that is still to be sent.
  [[nodiscard]] std::string pending(const char* row) const {
    std::string text = "true";
    if (!columns_.done_at.empty()) text += " AND " + of(row, columns_.done_at) + " IS NULL";
    for (const Condition& each : shape_.pending) {
      text += " AND " + of(row, each.column);
      std::string values;
      for (const std::string& one : each.one_of)
        values += (values.empty() ? "" : ", ") + literal(one);
      text += values.empty() ? " IS NOT NULL" : "::text IN (" + values + ")";
    }
    return text;
  }

  /// Ids that came as texts, in the type of the table.
  [[nodiscard]] std::string ids(const char* parameter) const {
    return std::string("SELECT convert_from(x, 'UTF8')::") + id_type_ + " FROM unnest(" +
           parameter + "::bytea[]) x";
  }

  [[nodiscard]] std::string as_text(const std::string& column) const {
    return column.empty() ? "NULL::text" : of("q", column) + "::text";
  }
  [[nodiscard]] std::string as_bytes(const std::string& column) const {
    if (column.empty()) return "NULL::bytea";
    if (facts_.at(column) == "bytea") return of("q", column);
    return "convert_to(" + of("q", column) + "::text, 'UTF8')";
  }
  [[nodiscard]] std::string as_number(const std::string& column) const {
    return column.empty() ? "NULL::bigint" : of("q", column) + "::bigint";
  }
  [[nodiscard]] static std::string as_millis(const std::string& column) {
    if (column.empty()) return "NULL::bigint";
    return "floor(extract(epoch FROM " + of("q", column) + ") * 1000)::bigint";
  }
  static std::string moment(const char* parameter) {
    return std::string("to_timestamp(") + parameter + "::double precision / 1000)";
  }

  [[nodiscard]] std::string order(const char* row) const {
    const std::string first = columns_.order.empty() ? "" : of(row, columns_.order) + ", ";
    return first + of(row, columns_.id);
  }

  /// Rows without a key are keys of their own.
  [[nodiscard]] std::string bucket() const {
    const std::string id = of("t", columns_.id) + "::text";
    const std::string by =
        columns_.key.empty() ? id : "coalesce(nullif(" + key() + ", ''), " + id + ")";
    return "(hashtextextended(" + by + " COLLATE \"C\", 0) & 9223372036854775807) % " +
           std::to_string(buckets);
  }
  [[nodiscard]] std::string key() const { return of("t", columns_.key) + "::text"; }

  [[nodiscard]] std::string read() const {
    std::string wanted = pending("t") + " AND " + bucket() + " = ANY($1::bigint[]) AND " +
                         of("t", columns_.id) + " NOT IN (" + ids("$2") + ")";
    if (!columns_.key.empty()) {
      wanted += " AND (" + of("t", columns_.key) + " IS NULL OR " + key() +
                " NOT IN (SELECT convert_from(x, 'UTF8') FROM unnest($3::bytea[]) x))";
    }
    if (!columns_.not_before.empty()) {
      const std::string column = of("t", columns_.not_before);
      wanted += " AND (" + column + " IS NULL OR " + column + " <= " + moment("$6") + ")";
    }
    const std::string size = "coalesce(pg_column_size(" + of("p", columns_.payload) + "), 0)";
    // What is large is looked at only after it is clear that it will be fetched.
    return "SELECT " + fields() + " FROM (SELECT p.*, sum(" + size + ") OVER (ORDER BY " +
           order("p") + " ROWS UNBOUNDED PRECEDING) - " + size +
           " AS dlo_before FROM (SELECT t.* FROM " + table_ + " t WHERE " + wanted + " ORDER BY " +
           order("t") + " LIMIT $4) p) q WHERE q.dlo_before < $5 ORDER BY " + order("q");
  }

  [[nodiscard]] std::string fields() const {
    const Columns& c = columns_;
    return as_text(c.id) + ", " + as_text(c.key) + ", " + as_text(c.type) + ", " +
           as_bytes(c.payload) + ", " + as_text(c.headers) + ", " + as_text(c.message_id) + ", " +
           as_text(c.correlation_id) + ", " + as_text(c.content_type) + ", " +
           as_text(c.destination) + ", " + as_millis(c.created_at) + ", " +
           as_millis(c.expires_at) + ", " + as_number(c.attempts) + ", " + as_millis(c.due_at) +
           ", " + as_millis(c.first_attempt_at) + ", " + as_text(c.last_error) + ", " +
           as_bytes(c.trail);
  }

  [[nodiscard]] std::string settings(const std::vector<Setting>& wanted, bool is_dead) const {
    std::string text;
    const auto add = [&text](const std::string& column, const std::string& value) {
      text += (text.empty() ? "" : ", ") + quoted(column) + " = " + value;
    };
    if (!columns_.done_at.empty()) add(columns_.done_at, "now()");
    if (is_dead && !columns_.dead_letter.empty()) {
      add(columns_.dead_letter, "encode(m.record, 'hex')");
    }
    for (const Setting& each : wanted) {
      const std::string value = each.to == Setting::To::in_a_day
                                    ? "now() + interval '1 day'"
                                    : literal(each.text) + "::" + facts_.at(each.column);
      add(each.column, value);
    }
    return text;
  }

  [[nodiscard]] std::string done() const {
    const std::string which = of("t", columns_.id) + " = ANY(ARRAY(" + ids("$1") + "))";
    if (shape_.deletes()) return "DELETE FROM " + table_ + " t WHERE " + which;
    return "UPDATE " + table_ + " t SET " + settings(shape_.done, false) + " WHERE " + which +
           " AND " + pending("t");
  }

  [[nodiscard]] std::string done_free() const {
    const std::string rows = "(SELECT s." + quoted(columns_.id) + " AS id FROM " + table_ +
                             " s WHERE " + of("s", columns_.id) + " = ANY(ARRAY(" + ids("$1") +
                             ")) AND " + pending("s") + " FOR UPDATE OF s SKIP LOCKED) m WHERE " +
                             of("t", columns_.id) + " = m.id";
    if (shape_.deletes()) return "DELETE FROM " + table_ + " t USING " + rows;
    return "UPDATE " + table_ + " t SET " + settings(shape_.done, false) + " FROM " + rows;
  }

  [[nodiscard]] std::string dead() const {
    const std::string rows = "(SELECT s." + quoted(columns_.id) +
                             " AS id, d.record FROM unnest($1::bytea[], $2::bytea[]) d(id, record) "
                             "JOIN " +
                             table_ + " s ON " + of("s", columns_.id) +
                             " = convert_from(d.id, 'UTF8')::" + id_type_ + " WHERE " +
                             pending("s") + " FOR UPDATE OF s SKIP LOCKED) m WHERE " +
                             of("t", columns_.id) + " = m.id";
    if (shape_.deletes()) return "DELETE FROM " + table_ + " t USING " + rows;
    return "UPDATE " + table_ + " t SET " +
           settings(shape_.dead.empty() ? shape_.done : shape_.dead, true) + " FROM " + rows;
  }

  [[nodiscard]] std::string left() const {
    return "SELECT " + of("t", columns_.id) + "::text FROM " + table_ + " t WHERE " +
           of("t", columns_.id) + " = ANY(ARRAY(" + ids("$1") + ")) AND " + pending("t");
  }

  [[nodiscard]] std::string failed() const {
    std::string text = "UPDATE " + table_ + " t SET " + quoted(columns_.attempts) + " = $2";
    const auto add = [&text](const std::string& column, const std::string& value) {
      if (!column.empty()) text += ", " + quoted(column) + " = " + value;
    };
    add(columns_.due_at, moment("$3"));
    add(columns_.first_attempt_at, moment("$4"));
    add(columns_.last_error, "convert_from($5, 'UTF8')");
    add(columns_.trail, "$6");
    return text + " WHERE " + of("t", columns_.id) + " = convert_from($1, 'UTF8')::" + id_type_ +
           " AND " + pending("t");
  }

  const Shape& shape_;
  const Columns& columns_;
  const TableFacts& facts_;
  std::string table_;
  std::string id_type_;
};

/// All columns that a shape names besides roles.
std::vector<std::string> fixed_columns(const Shape& shape) {
  std::vector<std::string> names;
  for (const Condition& each : shape.pending) names.push_back(each.column);
  for (const Setting& each : shape.done) names.push_back(each.column);
  for (const Setting& each : shape.dead) names.push_back(each.column);
  return names;
}

}  // namespace

Result<Shape> fit(Shape shape, const TableFacts& facts) {
  std::string missing;
  const auto miss = [&missing](const std::string& column) {
    missing += (missing.empty() ? "" : ", ") + column;
  };
  for (const Role& role : roles()) {
    std::string& column = shape.columns.*(role.column);
    if (column.empty() || facts.contains(column)) continue;
    const bool needed = std::ranges::find(shape.needed, role.name) != shape.needed.end();
    if (needed) miss(column);
    column.clear();
  }
  for (const std::string& column : fixed_columns(shape)) {
    if (!facts.contains(column)) miss(column);
  }
  if (missing.empty()) return shape;
  return Error{Code::not_found, "outbox.table",
               "table " + quoted(shape.schema) + "." + quoted(shape.table) + " is not of shape " +
                   shape.name + ": it has no column " + missing +
                   ". Name its own under `columns`, or choose another shape"};
}

Statements statements_of(const Shape& shape, const TableFacts& facts) {
  return Author(shape, facts).all();
}

}  // namespace dlo::outbox
