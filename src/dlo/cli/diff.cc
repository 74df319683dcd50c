#include <algorithm>
#include <ostream>
#include <string>

#include "dlo/cli/client.h"
#include "dlo/cli/editing.h"
#include "dlo/cli/table.h"

namespace dlo::cli {
namespace {

/// "v2" and "2" are the same version.
std::string number_in(const std::string& text) {
  return text.starts_with('v') ? text.substr(1) : text;
}

void print_side(Context& context, char mark, const std::string& name, const std::string& value) {
  const std::string_view colour = mark == '-' ? paint::red : paint::green;
  if (context.colour) context.out << colour;
  context.out << mark << " " << printable(name) << ": " << printable(value);
  if (context.colour) context.out << paint::plain;
  context.out << "\n";
}

void print_lines(Context& context, const std::string& text) {
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    context.out << printable(text.substr(from, end - from)) << "\n";
    from = end + 1;
  }
}

/// One row for each place that differs, for tables and CSV.
Table rows_of(const JsonValue& difference) {
  Table table({{"WHERE"}, {"BEFORE"}, {"AFTER", Align::left, true}});
  for (const JsonValue& each : member(difference, "headers").items) {
    table.add({"header " + text_of(each, "name"), text_of(each, "before"), text_of(each, "after")});
  }
  for (const JsonValue& each : member(difference, "paths").items) {
    const std::string change = text_of(each, "change");
    table.add({text_of(each, "path"),
               change == "added" ? "" : std::string(member(each, "before").raw),
               change == "removed" ? "" : std::string(member(each, "after").raw)});
  }
  return table;
}

}  // namespace

void print_difference(Context& context, const JsonValue& difference) {
  for (const JsonValue& each : member(difference, "headers").items) {
    const std::string name = "header " + text_of(each, "name");
    if (member(each, "before").kind != JsonKind::null) {
      print_side(context, '-', name, text_of(each, "before"));
    }
    if (member(each, "after").kind != JsonKind::null) {
      print_side(context, '+', name, text_of(each, "after"));
    }
  }
  for (const JsonValue& each : member(difference, "paths").items) {
    const std::string path = text_of(each, "path");
    const std::string change = text_of(each, "change");
    if (change != "added") print_side(context, '-', path, std::string(member(each, "before").raw));
    if (change != "removed") print_side(context, '+', path, std::string(member(each, "after").raw));
  }
  print_lines(context, text_of(difference, "unified"));
  const bool told =
      !member(difference, "paths").items.empty() || !text_of(difference, "unified").empty();
  if (is_true(difference, "payload_differs") && !told) context.out << "the payloads differ\n";
}

int diff(Context& context, const DiffArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const std::string target = Address("/v1/dead-letters")
                                 .step(arguments.id)
                                 .step("diff")
                                 .with_some("from", number_in(arguments.from))
                                 .with_some("to", number_in(arguments.to))
                                 .text();
  const auto reply = ask_for(**client, {"GET", target});
  if (!reply) return refuse(context, reply.error());
  const JsonValue& difference = member(reply->value, "diff");
  const bool same =
      member(difference, "headers").items.empty() && !is_true(difference, "payload_differs");
  switch (context.format) {
    case Format::json:
    case Format::ndjson:
      context.out << *reply->text;
      break;
    case Format::csv:
      print(context, rows_of(difference));
      break;
    case Format::id:
      if (!same) context.out << arguments.id << "\n";
      break;
    case Format::table:
    case Format::wide:
      print_difference(context, difference);
      break;
  }
  if (same) context.err << "They are the same.\n";
  return same ? exit_nothing_matched : exit_ok;
}

}  // namespace dlo::cli
