#include "dlo/cli/output.h"

#include <ostream>

#include "dlo/json/writer.h"

namespace dlo::cli {

void print_items(Context& context, const Reply& reply, const std::vector<JsonValue>& items,
                 const char* id_name, const std::function<Table()>& table) {
  switch (context.format) {
    case Format::json:
      context.out << *reply.text;
      return;
    case Format::ndjson:
      for (const JsonValue& each : items) context.out << each.raw << "\n";
      return;
    case Format::id:
      for (const JsonValue& each : items) context.out << printable(text_of(each, id_name)) << "\n";
      return;
    case Format::table:
    case Format::wide:
    case Format::csv:
      break;
  }
  if (!items.empty()) print(context, table());
}

std::string json_text(std::string_view text) {
  JsonWriter json;
  json.text(text);
  return json.take();
}

}  // namespace dlo::cli
