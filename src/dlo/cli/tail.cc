#include <ostream>
#include <string>

#include "dlo/cli/client.h"
#include "dlo/cli/table.h"
#include "dlo/cli/watching.h"
#include "dlo/core/encoding.h"
#include "dlo/store/query.h"

namespace dlo::cli {
namespace {

constexpr const char* most_at_once = "1000";

/// The place of a row in the order of deaths.
std::string place_of(const JsonValue& row) {
  Cursor cursor;
  cursor.died_at = time_of(row, "died_at").value_or(TimePoint{});
  cursor.number = member(row, "number").to_int64().value_or(0);
  return to_string(cursor);
}

void print_line(Context& context, const JsonValue& row) {
  if (context.format == Format::json || context.format == Format::ndjson) {
    context.out << row.raw << "\n";
    return;
  }
  if (context.format == Format::id) {
    context.out << text_of(row, "id") << "\n";
    return;
  }
  if (context.format == Format::csv) {
    print_csv_row(context.out, {text_of(row, "died_at"), text_of(row, "id"), text_of(row, "source"),
                                text_of(row, "event_type"), text_of(row, "reason"),
                                text_of(row, "error_type"), text_of(row, "error_text")});
    return;
  }
  const std::string error = text_of(row, "error_text");
  const std::string line = text_of(row, "died_at") + "  " + text_of(row, "id") + "  " +
                           printable(text_of(row, "source")) + "  " +
                           printable(text_of(row, "reason")) + "  " +
                           printable(error.empty() ? text_of(row, "error_type") : error);
  context.out << cut(line, context.width == 0 ? line.size() : context.width) << "\n";
}

/// Where to begin: behind the newest `skip` of what is there.
Result<std::string> beginning(Client& client, const TailArguments& arguments) {
  Address address("/v1/dead-letters");
  address.with_some("q", query_of(arguments.selection))
      .with("limit", std::to_string(arguments.last + 1));
  const auto page = ask_for(client, {"GET", address.text()});
  if (!page) return page.error();
  const auto& rows = member(page->value, "dead_letters").items;
  if (rows.size() <= arguments.last) return std::string();
  return place_of(rows[arguments.last]);
}

}  // namespace

int tail(Context& context, const TailArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  auto place = beginning(**client, arguments);
  if (!place) return refuse(context, place.error());
  if (context.format == Format::csv) {
    print_csv_row(context.out, {"DIED", "ID", "SOURCE", "TYPE", "REASON", "ERROR_TYPE", "ERROR"});
  }
  // By keyset: whatever died since the last look, oldest first. Nothing is missed, nothing twice.
  while (context.out) {
    const auto page = ask_for(**client, {"GET", Address("/v1/dead-letters")
                                                    .with_some("q", query_of(arguments.selection))
                                                    .with("order", "oldest")
                                                    .with("limit", most_at_once)
                                                    .with_some("cursor", *place)
                                                    .text()});
    if (!page && !is_retryable(page.error().code)) return refuse(context, page.error());
    if (!page) {
      fail(context, page.error());
      context.err << "Trying again; stop with Ctrl-C." << std::endl;
    } else {
      const auto& rows = member(page->value, "dead_letters").items;
      for (const JsonValue& row : rows) print_line(context, row);
      context.out << std::flush;
      if (!rows.empty()) place = place_of(rows.back());
    }
    if (arguments.once || !context.pause) break;
    context.pause(arguments.every);
  }
  return exit_ok;
}

}  // namespace dlo::cli
