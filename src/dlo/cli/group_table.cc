#include <ostream>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"

namespace dlo::cli {

Table group_table(const Context& context, const std::vector<JsonValue>& groups) {
  const bool wide = context.format == Format::wide || context.format == Format::csv;
  std::vector<Column> columns = {{"GROUP"},
                                 {"STATUS", Align::left, false, colour_of_status},
                                 {"OPEN", Align::right},
                                 {"EVER", Align::right, false, nullptr, true},
                                 {"CATEGORY", Align::left, false, nullptr, true},
                                 {"SOURCE", Align::left, false, nullptr, true},
                                 {"FIRST", Align::left, false, nullptr, true},
                                 {"LAST", Align::left, false, nullptr, true},
                                 {"MARKS", Align::left, false, nullptr, true}};
  if (wide) columns.insert(columns.end(), {{"OWNER"}, {"UNTIL"}, {"TAGS"}, {"TICKET"}, {"NOTES"}});
  columns.push_back({"TITLE", Align::left, true});
  Table table(std::move(columns));
  for (const JsonValue& group : groups) {
    std::string marks;
    for (const JsonValue& each : member(group, "marks").items) {
      marks += (marks.empty() ? "" : " ") + each.text();
    }
    std::vector<std::string> row = {text_of(group, "id"),
                                    text_of(group, "status"),
                                    text_of(group, "open"),
                                    text_of(group, "total"),
                                    text_of(group, "category"),
                                    text_of(group, "source"),
                                    when(context, time_of(group, "first_seen")),
                                    when(context, time_of(group, "last_seen")),
                                    marks};
    if (wide) {
      std::string tags;
      for (const JsonValue& each : member(group, "tags").items) {
        tags += (tags.empty() ? "" : " ") + each.text();
      }
      row.insert(row.end(),
                 {text_of(group, "owner"), when(context, time_of(group, "snoozed_until")), tags,
                  text_of(group, "ticket"), text_of(group, "notes")});
    }
    row.push_back(text_of(group, "title"));
    table.add(std::move(row));
  }
  return table;
}

void print_groups(Context& context, const std::vector<JsonValue>& groups) {
  print(context, group_table(context, groups));
}

}  // namespace dlo::cli
