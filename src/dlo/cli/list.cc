#include <ostream>

#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/spelling.h"
#include "dlo/json/json.h"
#include "dlo/json/lifted.h"
#include "dlo/json/writer.h"
#include "dlo/query/query_text.h"
#include "dlo/query/quoting.h"
#include "dlo/store/office.h"

namespace dlo::cli {
namespace {

/// The options that are short for terms, as terms.
std::string terms_of(const ListArguments& arguments) {
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    if (!value.empty()) text += std::string(" ") + name + ":" + query::quoted_if_needed(value);
  };
  for (std::size_t i = 0; i < arguments.statuses.size(); ++i) {
    text += (i == 0 ? " status:" : ",") + query::quoted_if_needed(arguments.statuses[i]);
  }
  add("source", arguments.source);
  add("category", arguments.category);
  add("group", arguments.group);
  add("type", arguments.type);
  add("key", arguments.key);
  add("error", arguments.words);
  return text;
}

/// The query and the options together: all must hold.
Result<Query> parse_both(const ListArguments& arguments, TimePoint now) {
  std::string typed;
  for (const std::string& word : arguments.query) typed += (typed.empty() ? "" : " ") + word;
  if (auto alone = parse_query(typed, now); !alone) {
    Error error = alone.error();
    error.detail = "The query " + in_quotes(typed) + " is not understood. " + error.detail + ".";
    return error;
  }
  const std::string options = terms_of(arguments);
  auto both = parse_query(typed + options, now);
  if (both) return both;
  Error error = both.error();
  error.detail = "The query with its options, " + in_quotes(typed + options) +
                 ", is not understood. " + error.detail + ".";
  return error;
}

Result<Query> to_query(const ListArguments& arguments, TimePoint now) {
  auto query = parse_both(arguments, now);
  if (!query) return query;
  query->limit = arguments.limit;
  if (arguments.oldest_first) query->order = Order::oldest_first;
  if (!arguments.cursor.empty()) {
    query->after = parse_cursor(arguments.cursor);
    if (!query->after) {
      return Error{
          Code::invalid_argument, "cli.list",
          "'" + arguments.cursor + "' is not a cursor. Use the one an earlier list printed."};
    }
  }
  return query;
}

/// A page and what was lifted out of its messages, row by row.
struct Listing {
  Page page;
  std::vector<LiftedColumn> columns;
  std::vector<std::vector<LiftedValue>> lifted;  // empty without columns
};

Result<void> lift_all(Office& office, Listing& listing) {
  if (listing.columns.empty()) return {};
  for (const RecordHead& head : listing.page.rows) {
    const auto detail = office.get(head.id);
    if (!detail && detail.error().code != Code::not_found) return detail.error();
    // Removed since it was listed: the row stays, its columns are empty.
    listing.lifted.push_back(detail ? lift(listing.columns, *detail->record.message)
                                    : std::vector<LiftedValue>(listing.columns.size()));
  }
  return {};
}

std::string row_json(const Listing& listing, std::size_t row) {
  std::string head = to_json(listing.page.rows[row]);
  if (listing.columns.empty()) return head;
  JsonWriter lifted;
  lifted.begin_object();
  for (std::size_t i = 0; i < listing.columns.size(); ++i) {
    listing.lifted[row][i].write(lifted, listing.columns[i].title);
  }
  lifted.end_object();
  head.pop_back();  // the closing bracket
  return head + ",\"columns\":" + lifted.take() + "}";
}

std::string page_json(const Listing& listing) {
  JsonWriter json;
  json.begin_object().key("dead_letters").begin_array();
  for (std::size_t row = 0; row < listing.page.rows.size(); ++row) {
    json.raw(row_json(listing, row));
  }
  json.end_array().key("next");
  if (listing.page.next) {
    json.text(to_string(*listing.page.next));
  } else {
    json.null();
  }
  json.key("partial").boolean(listing.page.partial).end_object();
  return json.take();
}

std::vector<Column> titles(const Listing& listing, bool wide) {
  std::vector<Column> columns = {
      {"ID"}, {"STATUS"}, {"SOURCE"}, {"TYPE"}, {"REASON"}, {"ATTEMPTS", Align::right}, {"DIED"}};
  if (wide) {
    columns.insert(columns.end(), {{"CATEGORY"}, {"KEY"}, {"GROUP"}, {"SIZE", Align::right}});
  }
  for (const LiftedColumn& column : listing.columns) columns.push_back({column.title});
  columns.push_back({"ERROR", Align::left, true});
  return columns;
}

void print_table(Context& context, const Listing& listing) {
  const bool wide = context.format == Format::wide || context.format == Format::csv;
  Table table(titles(listing, wide));
  for (std::size_t i = 0; i < listing.page.rows.size(); ++i) {
    const RecordHead& head = listing.page.rows[i];
    std::vector<std::string> row = {to_string(head.id),
                                    std::string(name_of(head.status)),
                                    head.source,
                                    head.event_type,
                                    head.reason,
                                    std::to_string(head.counters.total),
                                    relative(head.died_at, context.now)};
    if (wide) {
      row.insert(row.end(), {head.category, head.key, to_string(head.group),
                             std::to_string(head.payload_size)});
    }
    if (!listing.columns.empty()) {
      for (const LiftedValue& value : listing.lifted[i]) row.push_back(value.cell());
    }
    row.push_back(head.error_text.empty() ? head.error_type : head.error_text);
    table.add(std::move(row));
  }
  if (context.format == Format::csv) {
    table.print_csv(context.out);
  } else {
    table.print(context.out, context.format == Format::wide ? 0 : context.width);
  }
}

void print(Context& context, const Listing& listing) {
  const auto& rows = listing.page.rows;
  if (context.format == Format::json) {
    context.out << page_json(listing) << "\n";
  } else if (context.format == Format::ndjson || context.format == Format::id) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool id = context.format == Format::id;
      context.out << (id ? to_string(rows[i].id) : row_json(listing, i)) << "\n";
    }
  } else if (!rows.empty()) {
    print_table(context, listing);
  }
}

int fail_usage(Context& context, const Error& error) {
  fail(context, error);
  return exit_usage;
}

}  // namespace

int list(Context& context, const ListArguments& arguments) {
  const auto query = to_query(arguments, context.now);
  if (!query) return fail_usage(context, query.error());
  auto columns = parse_columns(arguments.columns);
  if (!columns) return fail_usage(context, columns.error());
  const auto office = open_for_reading(context);
  if (!office) return fail(context, office.error());
  auto page = (*office)->list(*query);
  if (!page) return fail(context, page.error());
  Listing listing{std::move(*page), std::move(*columns), {}};
  if (auto lifted = lift_all(**office, listing); !lifted) return fail(context, lifted.error());

  print(context, listing);
  // Notes go to the error stream, so that what is piped stays clean.
  const bool empty = listing.page.rows.empty();
  const bool partial = listing.page.partial;
  if (empty && !partial) context.err << "Nothing matches.\n";
  if (partial) context.err << "The search took too long and stopped early.\n";
  if (listing.page.next) {
    context.err << "More: add --cursor " << to_string(*listing.page.next) << "\n";
  }
  if (partial) return exit_partial;
  return empty ? exit_nothing_matched : exit_ok;
}

}  // namespace dlo::cli
