#include <ostream>

#include "dlo/cli/client.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"

namespace dlo::cli {

void print_groups(Context& context, const std::vector<JsonValue>& groups) {
  const bool wide = context.format == Format::wide || context.format == Format::csv;
  std::vector<Column> columns = {{"GROUP"},
                                 {"STATUS", Align::left, false, colour_of_status},
                                 {"OPEN", Align::right},
                                 {"EVER", Align::right, false, nullptr, true},
                                 {"CATEGORY", Align::left, false, nullptr, true},
                                 {"SOURCE", Align::left, false, nullptr, true},
                                 {"FIRST", Align::left, false, nullptr, true},
                                 {"LAST", Align::left, false, nullptr, true}};
  if (wide) columns.insert(columns.end(), {{"OWNER"}, {"TICKET"}, {"NOTES"}});
  columns.push_back({"TITLE", Align::left, true});
  Table table(std::move(columns));
  for (const JsonValue& group : groups) {
    const auto when = [&](const char* name) {
      const auto time = time_of(group, name);
      return time ? relative(*time, context.now) : std::string();
    };
    std::vector<std::string> row = {text_of(group, "id"),       text_of(group, "status"),
                                    text_of(group, "open"),     text_of(group, "total"),
                                    text_of(group, "category"), text_of(group, "source"),
                                    when("first_seen"),         when("last_seen")};
    if (wide) {
      row.insert(row.end(),
                 {text_of(group, "owner"), text_of(group, "ticket"), text_of(group, "notes")});
    }
    row.push_back(text_of(group, "title"));
    table.add(std::move(row));
  }
  print(context, table);
}

}  // namespace dlo::cli
