#include <ostream>

#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/json/json.h"
#include "dlo/store/office.h"

namespace dlo::cli {
namespace {

Result<std::vector<Status>> parse_statuses(const std::vector<std::string>& names) {
  std::vector<Status> statuses;
  for (const std::string& name : names) {
    if (name == "open") {
      for (const Status status : all_statuses()) {
        if (is_open(status)) statuses.push_back(status);
      }
      continue;
    }
    const auto status = parse_status(name);
    if (!status) {
      std::string valid = "open";
      for (const Status each : all_statuses()) valid += ", " + std::string(name_of(each));
      return Error{Code::invalid_argument, "cli.list",
                   "There is no status '" + name + "'. The statuses are " + valid + "."};
    }
    statuses.push_back(*status);
  }
  return statuses;
}

Result<Query> to_query(const ListArguments& arguments) {
  Query query;
  auto statuses = parse_statuses(arguments.statuses);
  if (!statuses) return statuses.error();
  query.statuses = std::move(*statuses);
  const auto text = [](const std::string& value) {
    return value.empty() ? std::nullopt : std::optional(value);
  };
  query.source = text(arguments.source);
  query.category = text(arguments.category);
  query.event_type = text(arguments.type);
  query.key = text(arguments.key);
  query.error_words = arguments.words;
  query.limit = arguments.limit;
  if (arguments.oldest_first) query.order = Order::oldest_first;
  if (!arguments.group.empty()) {
    query.group = parse_id(arguments.group);
    if (!query.group) {
      return Error{Code::invalid_argument, "cli.list",
                   "'" + arguments.group + "' is not a group id: 32 hex digits."};
    }
  }
  if (!arguments.cursor.empty()) {
    query.after = parse_cursor(arguments.cursor);
    if (!query.after) {
      return Error{
          Code::invalid_argument, "cli.list",
          "'" + arguments.cursor + "' is not a cursor. Use the one an earlier list printed."};
    }
  }
  return query;
}

void print_table(Context& context, const Page& page) {
  const bool wide = context.format == Format::wide || context.format == Format::csv;
  std::vector<Column> columns = {{"ID"},     {"STATUS"},
                                 {"SOURCE"}, {"TYPE"},
                                 {"REASON"}, {"ATTEMPTS", Align::right},
                                 {"DIED"},   {"ERROR", Align::left, true}};
  if (wide) {
    columns.insert(columns.end() - 1, {{"CATEGORY"}, {"KEY"}, {"GROUP"}, {"SIZE", Align::right}});
  }
  Table table(std::move(columns));
  for (const RecordHead& head : page.rows) {
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
    row.push_back(head.error_text.empty() ? head.error_type : head.error_text);
    table.add(std::move(row));
  }
  if (context.format == Format::csv) {
    table.print_csv(context.out);
  } else {
    table.print(context.out, context.format == Format::wide ? 0 : context.width);
  }
}

}  // namespace

int list(Context& context, const ListArguments& arguments) {
  const auto query = to_query(arguments);
  if (!query) return fail(context, query.error());
  const auto office = open_for_reading(context);
  if (!office) return fail(context, office.error());
  const auto page = (*office)->list(*query);
  if (!page) return fail(context, page.error());

  if (context.format == Format::json) {
    context.out << to_json(*page) << "\n";
  } else if (context.format == Format::ndjson || context.format == Format::id) {
    for (const RecordHead& head : page->rows) {
      context.out << (context.format == Format::id ? to_string(head.id) : to_json(head)) << "\n";
    }
  } else if (!page->rows.empty()) {
    print_table(context, *page);
  }
  // Notes go to the error stream, so that what is piped stays clean.
  if (page->rows.empty() && !page->partial) context.err << "Nothing matches.\n";
  if (page->partial) context.err << "The search took too long and stopped early.\n";
  if (page->next) context.err << "More: add --cursor " << to_string(*page->next) << "\n";
  if (page->partial) return exit_partial;
  return page->rows.empty() ? exit_nothing_matched : exit_ok;
}

}  // namespace dlo::cli
