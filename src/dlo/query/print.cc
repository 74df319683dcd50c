#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/encoding.h"
#include "dlo/query/qualifiers.h"
#include "dlo/query/query_text.h"
#include "dlo/query/quoting.h"

namespace dlo {
namespace {

/// Terms under way.
class Printer {
 public:
  void term(std::string_view name, std::string_view value) {
    if (!out_.empty()) out_ += ' ';
    out_.append(name).append(":").append(value);
  }
  void time(std::string_view name, std::string_view op, const std::optional<TimePoint>& value) {
    if (value) term(name, std::string(op) + to_iso8601(*value));
  }
  template <typename Number>
  void number(std::string_view name, std::string_view op, const std::optional<Number>& value) {
    if (value) term(name, std::string(op) + std::to_string(*value));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void print_statuses(Printer& out, const std::vector<Status>& statuses) {
  if (statuses.empty()) return;
  std::vector<Status> open;
  for (const Status status : all_statuses()) {
    if (is_open(status)) open.push_back(status);
  }
  std::string names;
  for (const Status status : statuses) {
    names += names.empty() ? "" : ",";
    names += name_of(status);
  }
  out.term("status", statuses == open ? "open" : names);
}

void print_texts(Printer& out, const Query& query) {
  Query copy = query;
  for (const query::Qualifier& qualifier : query::qualifiers()) {
    if (qualifier.kind != query::Kind::text) continue;
    const auto* value = query::single_text(copy, qualifier.field);
    if (value != nullptr && *value) out.term(qualifier.name, query::quoted_if_needed(**value));
  }
  if (query.group) out.term("group", to_string(*query.group));
  std::string ids;
  for (const RecordId& id : query.ids) ids += (ids.empty() ? "" : ",") + to_string(id);
  if (!ids.empty()) out.term("id", ids);
}

void print_test(Printer& out, const FieldTest& test) {
  std::string name = test.negated ? "-" : "";
  name += query::qualifier_of(test.field)->name;
  if (test.field == Field::header || test.field == Field::body)
    name += query::quoted_if_needed(test.path);
  std::string values;
  for (const std::string& value : test.values) {
    if (!values.empty()) values += ',';
    values += query::quoted_if_needed(value);
  }
  out.term(name, values);
}

}  // namespace

std::string print_query(const Query& query) {
  Printer out;
  print_statuses(out, query.statuses);
  print_texts(out, query);
  if (!query.error_words.empty()) out.term("error", query::quoted_if_needed(query.error_words));
  if (!query.payload_words.empty())
    out.term("payload", query::quoted_if_needed(query.payload_words));
  for (const FieldTest& test : query.tests) print_test(out, test);
  out.time("died", ">=", query.from);
  out.time("died", "<", query.until);
  out.time("next_retry", ">=", query.next_retry_from);
  out.time("next_retry", "<", query.next_retry_until);
  out.time("resolved", ">=", query.resolved_from);
  out.time("resolved", "<", query.resolved_until);
  out.number("attempts", ">", query.attempts_over);
  out.number("attempts", "<", query.attempts_below);
  out.number("replayed", ">", query.replays_over);
  out.number("replayed", "<", query.replays_below);
  if (query.source_unsettled) out.term("unsettled", *query.source_unsettled ? "yes" : "no");
  out.number("change", "<=", query.changed_up_to);
  if (query.order == Order::oldest_first) out.term("order", "oldest");
  return out.take();
}

}  // namespace dlo
