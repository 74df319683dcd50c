#include "dlo/cli/output.h"

#include <algorithm>
#include <ostream>

#include "dlo/core/encoding.h"
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

namespace {

/// Titles are written as in tables: `died_at` is DIED_AT.
std::string title_of(std::string name) {
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

/// The members that are no lists and no objects, under the names of the first.
Table scalars(const std::vector<JsonValue>& items) {
  std::vector<Column> columns;
  std::vector<std::string> names;
  for (const JsonMember& each : items.front().members) {
    if (each.value.kind == JsonKind::object || each.value.kind == JsonKind::array) continue;
    names.push_back(each.name);
    columns.push_back({title_of(each.name)});
  }
  Table table(std::move(columns));
  for (const JsonValue& item : items) {
    std::vector<std::string> row;
    for (const std::string& name : names) row.push_back(text_of(item, name));
    table.add(std::move(row));
  }
  return table;
}

}  // namespace

bool is_for_people(const Context& context) noexcept {
  return context.format == Format::table || context.format == Format::wide;
}

void print_one(Context& context, const JsonValue& value, const char* id_name,
               const std::function<void()>& people) {
  if (context.format == Format::json) {
    context.out << value.raw << "\n";
  } else {
    print_all(context, {value}, id_name, people);
  }
}

void print_done(Context& context, const JsonValue& value, const std::string& id,
                const std::function<void()>& people) {
  const bool scalar = std::any_of(value.members.begin(), value.members.end(), [](const auto& each) {
    return each.value.kind != JsonKind::object && each.value.kind != JsonKind::array;
  });
  if (context.format == Format::id) {
    context.out << printable(id) << "\n";
  } else if (context.format == Format::csv && !scalar) {  // a list: that it was done is the answer
    Rows(context, {"id"}).add({id});
  } else {
    print_one(context, value, "", people);
  }
}

void print_all(Context& context, const std::vector<JsonValue>& items, const char* id_name,
               const std::function<void()>& people) {
  if (is_for_people(context)) return people();
  if (context.format == Format::csv) {
    if (!items.empty()) print(context, scalars(items));
    return;
  }
  if (context.format == Format::json) context.out << "[";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (context.format == Format::json) {
      context.out << (i == 0 ? "" : ",") << items[i].raw;
    } else if (context.format == Format::id) {
      context.out << printable(text_of(items[i], id_name)) << "\n";
    } else {
      context.out << items[i].raw << "\n";
    }
  }
  if (context.format == Format::json) context.out << "]\n";
}

Rows::Rows(Context& context, std::vector<std::string> names)
    : context_(context), names_(std::move(names)) {
  if (context_.format != Format::csv) return;
  std::vector<std::string> titles;
  for (const std::string& name : names_) titles.push_back(title_of(name));
  print_csv_row(context_.out, titles);
}

void Rows::add(const std::vector<std::string>& cells) {
  const bool first = count_++ == 0;
  if (context_.format == Format::id) {
    context_.out << printable(cells.front()) << "\n";
  } else if (context_.format == Format::csv) {
    print_csv_row(context_.out, cells);
  } else if (is_for_people(context_)) {
    std::string line;
    for (const std::string& cell : cells) {
      if (!cell.empty()) line += (line.empty() ? "" : "  ") + printable(cell);
    }
    context_.out << line << "\n";
  } else {
    JsonWriter json;
    json.begin_object();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].empty()) json.member(names_[i], cells[i]);
    }
    json.end_object();
    const bool array = context_.format == Format::json;
    context_.out << (array ? (first ? "[" : ",\n") : "") << json.take() << (array ? "" : "\n");
  }
}

void Rows::end() {
  if (context_.format == Format::json) context_.out << (count_ == 0 ? "[]\n" : "]\n");
}

std::string when(const Context& context, const std::optional<TimePoint>& time) {
  if (!time) return {};
  return is_for_people(context) ? relative(*time, context.now) : to_iso8601(*time);
}

int refuse_ids(Context& context, const std::string& what) {
  return refuse(context, {Code::invalid_argument, "cli.output",
                          what + " has no ids; -o is table, wide, csv, json or ndjson."});
}

std::string json_text(std::string_view text) {
  JsonWriter json;
  json.text(text);
  return json.take();
}

}  // namespace dlo::cli
