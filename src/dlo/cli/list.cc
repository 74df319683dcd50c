#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

constexpr std::size_t most_rows_at_once = 1'000;

/// Pages that together are what was asked for. Rows point into the replies.
struct Listing {
  std::vector<Reply> replies;
  std::vector<const JsonValue*> rows;
  std::string next;
  bool partial = false;
};

Address address_of(const ListArguments& arguments, std::size_t limit, const std::string& cursor) {
  std::string columns;
  for (const std::string& each : arguments.columns) columns += (columns.empty() ? "" : ",") + each;
  Address address("/v1/dead-letters");
  address.with_some("q", query_of(arguments.selection))
      .with("limit", std::to_string(limit))
      .with_some("cursor", cursor)
      .with_some("columns", columns)
      .with_some("form", arguments.form);
  if (arguments.oldest_first) address.with("order", "oldest");
  return address;
}

Result<Listing> fetch(Client& client, const ListArguments& arguments) {
  Listing listing;
  listing.next = arguments.cursor;
  std::size_t wanted = arguments.limit;
  do {
    const std::size_t limit = std::min(wanted, most_rows_at_once);
    auto reply = ask_for(client, {"GET", address_of(arguments, limit, listing.next).text()});
    if (!reply) return reply.error();
    listing.replies.push_back(std::move(*reply));
    wanted -= limit;
    const JsonValue& page = listing.replies.back().value;
    listing.next = text_of(page, "next");
    listing.partial = is_true(page, "partial");
  } while (wanted > 0 && !listing.next.empty() && !listing.partial);
  for (const Reply& reply : listing.replies) {
    for (const JsonValue& row : member(reply.value, "dead_letters").items) {
      listing.rows.push_back(&row);
    }
  }
  return listing;
}

std::string page_json(const Listing& listing) {
  JsonWriter json;
  json.begin_object().key("dead_letters").begin_array();
  for (const JsonValue* row : listing.rows) json.raw(row->raw);
  json.end_array().key("next");
  if (listing.next.empty()) {
    json.null();
  } else {
    json.text(listing.next);
  }
  json.key("partial").boolean(listing.partial).end_object();
  return json.take();
}

std::vector<Column> titles(const JsonValue& first, bool wide) {
  std::vector<Column> columns = {{"ID"},     {"STATUS", Align::left, false, colour_of_status},
                                 {"SOURCE"}, {"TYPE"},
                                 {"REASON"}, {"ATTEMPTS", Align::right},
                                 {"DIED"}};
  if (wide) {
    columns.insert(columns.end(), {{"CATEGORY"}, {"KEY"}, {"GROUP"}, {"SIZE", Align::right}});
  }
  for (const JsonMember& each : member(first, "columns").members) columns.push_back({each.name});
  columns.push_back({"ERROR", Align::left, true});
  return columns;
}

std::vector<std::string> cells_of(const Context& context, const JsonValue& head, bool wide) {
  std::vector<std::string> row = {text_of(head, "id"),
                                  text_of(head, "status"),
                                  text_of(head, "source"),
                                  text_of(head, "event_type"),
                                  text_of(head, "reason"),
                                  text_of(member(head, "counters"), "total"),
                                  when(context, time_of(head, "died_at"))};
  if (wide) {
    row.insert(row.end(), {text_of(head, "category"), text_of(head, "key"), text_of(head, "group"),
                           text_of(head, "payload_size")});
  }
  const JsonValue& lifted = member(head, "columns");
  for (const JsonMember& each : lifted.members) row.push_back(text_of(lifted, each.name));
  const std::string error = text_of(head, "error_text");
  row.push_back(error.empty() ? text_of(head, "error_type") : error);
  return row;
}

void print(Context& context, const Listing& listing, bool rendered) {
  if (context.format == Format::json) {
    context.out << page_json(listing) << "\n";
  } else if (context.format == Format::ndjson || rendered) {
    for (const JsonValue* row : listing.rows) context.out << row->raw << "\n";
  } else if (context.format == Format::id) {
    for (const JsonValue* row : listing.rows) context.out << text_of(*row, "id") << "\n";
  } else if (!listing.rows.empty()) {
    print(context, letter_table(context, listing.rows));
  }
}

/// Notes go to the error stream, so that what is piped stays clean.
int say_how_it_ended(Context& context, const Listing& listing) {
  const bool empty = listing.rows.empty();
  if (empty && !listing.partial) context.err << "Nothing matches.\n";
  if (listing.partial) context.err << "The search took too long and stopped early.\n";
  if (!listing.next.empty()) context.err << "More: add --cursor " << listing.next << "\n";
  if (listing.partial) return exit_partial;
  return empty ? exit_nothing_matched : exit_ok;
}

}  // namespace

Table letter_table(const Context& context, const std::vector<const JsonValue*>& rows) {
  static const JsonValue nothing;
  const bool wide = context.format == Format::wide || context.format == Format::csv;
  Table table(titles(rows.empty() ? nothing : *rows.front(), wide));
  for (const JsonValue* row : rows) table.add(cells_of(context, *row, wide));
  return table;
}

int list(Context& context, const ListArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  return watched(context, arguments.watch, [&]() -> int {
    const auto listing = fetch(**client, arguments);
    if (!listing) return refuse(context, listing.error());
    print(context, *listing, !arguments.form.empty());
    return say_how_it_ended(context, *listing);
  });
}

int count(Context& context, const Selection& selection) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  ListArguments arguments;
  arguments.selection = selection;
  arguments.limit = most_rows_at_once * 10;
  const auto listing = fetch(**client, arguments);
  if (!listing) return refuse(context, listing.error());
  // Never a count that blocks: beyond what can be walked quickly it is a bound.
  const bool more = !listing->next.empty() || listing->partial;
  JsonWriter json;
  json.begin_object().member("count", std::uint64_t{listing->rows.size()});
  json.key("at_least").boolean(more).end_object();
  const std::string text = json.take();
  const auto value = parse_json(text);
  if (!value) return refuse(context, value.error());
  print_one(context, *value, "count", [&] { context.out << listing->rows.size() << "\n"; });
  if (more) context.err << "At least that many: counting stopped there.\n";
  if (more) return exit_partial;
  return listing->rows.empty() ? exit_nothing_matched : exit_ok;
}

}  // namespace dlo::cli
