#include "dlo/json/lifted.h"

#include <algorithm>
#include <charconv>

#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::string_view body_prefix = "body.";
constexpr std::string_view header_prefix = "header.";

Error refuse(const std::string& text, const std::string& why) {
  return {Code::invalid_argument, "json.columns",
          "--columns " + in_quotes(text) + ": " + why +
              " Write payment_id=body.PaymentId or tenant=header.tenant."};
}

const JsonValue* step_into(const JsonValue& value, const std::string& step) {
  if (value.kind == JsonKind::object) return value.find(step);
  if (value.kind != JsonKind::array) return nullptr;
  std::size_t index = 0;
  const char* end = step.data() + step.size();
  const auto read = std::from_chars(step.data(), end, index);
  const bool inside = read.ec == std::errc{} && read.ptr == end && index < value.items.size();
  return inside ? &value.items[index] : nullptr;
}

LiftedValue at_path(const JsonValue* value, const JsonPath& path) {
  for (const std::string& step : path.steps) {
    if (value == nullptr) break;
    value = step_into(*value, step);
  }
  if (value == nullptr) return {};
  return {LiftedValue::Kind::json, std::string(value->raw)};
}

}  // namespace

Result<std::vector<LiftedColumn>> parse_columns(const std::vector<std::string>& texts) {
  std::vector<LiftedColumn> columns;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const bool titled = equals != std::string::npos;
    const std::string what = titled ? text.substr(equals + 1) : text;
    LiftedColumn column{titled ? text.substr(0, equals) : text, "", std::nullopt};
    if (column.title.empty()) return refuse(text, "the column has no title.");
    const bool taken = std::any_of(columns.begin(), columns.end(), [&](const LiftedColumn& each) {
      return each.title == column.title;
    });
    if (taken) return refuse(text, "there is a column of that title already.");
    if (what.starts_with(body_prefix)) {
      auto path = JsonPath::parse(std::string_view(what).substr(body_prefix.size()));
      if (!path) return refuse(text, path.error().detail + ".");
      column.path = std::move(*path);
    } else if (what.starts_with(header_prefix) && what.size() > header_prefix.size()) {
      column.header = what.substr(header_prefix.size());
    } else {
      return refuse(text, "only fields of the payload and headers can be shown.");
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

std::string LiftedValue::cell() const {
  return kind == Kind::json && text.starts_with('"') ? json_unescape(text) : text;
}

void LiftedValue::write(JsonWriter& json, std::string_view name) const {
  if (kind == Kind::absent) {
    json.key(name).null();
  } else if (kind == Kind::json) {
    json.embed_or_bytes(name, text);
  } else {
    json.bytes(name, text);
  }
}

std::vector<LiftedValue> lift(const std::vector<LiftedColumn>& columns, const Message& message) {
  const bool reads_payload = std::any_of(
      columns.begin(), columns.end(), [](const auto& column) { return column.path.has_value(); });
  std::optional<JsonValue> body;
  if (reads_payload && message.payload) {
    if (auto parsed = parse_json(*message.payload)) body = std::move(*parsed);
  }
  std::vector<LiftedValue> values;
  for (const LiftedColumn& column : columns) {
    if (column.path) {
      values.push_back(at_path(body ? &*body : nullptr, *column.path));
      continue;
    }
    const Header* header = find_header(message.headers, column.header);
    values.push_back(header == nullptr ? LiftedValue{}
                                       : LiftedValue{LiftedValue::Kind::text, header->value});
  }
  return values;
}

}  // namespace dlo
