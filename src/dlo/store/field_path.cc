#include "dlo/store/field_path.h"

#include "dlo/core/spelling.h"
#include "dlo/store/field_tests.h"

namespace dlo {
namespace {

constexpr std::string_view header_prefix = "header.";
constexpr std::string_view body_prefix = "body.";

/// One step of a JSON pointer.
std::string escaped(std::string_view step) {
  std::string out;
  for (const char c : step) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

}  // namespace

Result<FieldPath> FieldPath::parse(std::string_view text) {
  FieldPath out;
  if (text.starts_with(header_prefix) && text.size() > header_prefix.size()) {
    out.field = Field::header;
    out.header = ascii_lower(text.substr(header_prefix.size()));
    return out;
  }
  if (text.starts_with(body_prefix)) {
    auto path = JsonPath::parse(text.substr(body_prefix.size()));
    if (!path) return path.error();
    out.path = std::move(*path);
    return out;
  }
  return Error{Code::invalid_argument, "office.path",
               in_quotes(text) +
                   " names no place in a message: write header.NAME or body.PATH, such as "
                   "header.authorization or body.card.number"};
}

std::string FieldPath::name() const {
  if (field == Field::header) return std::string(header_prefix) + header;
  std::string out = "body.";
  for (const std::string& step : path.steps) out += "/" + escaped(step);
  return out;
}

std::optional<FieldPath> path_of(const FieldTest& test) {
  if (test.field != Field::header && test.field != Field::body) return std::nullopt;
  auto path = FieldPath::parse(
      std::string(test.field == Field::header ? header_prefix : body_prefix) + test.path);
  if (!path) return std::nullopt;
  return std::move(*path);
}

std::vector<std::optional<std::string>> values_at(const std::vector<FieldPath>& paths,
                                                  const Headers& headers,
                                                  std::string_view payload) {
  std::vector<JsonPath> inside;
  for (const FieldPath& path : paths) {
    if (path.field == Field::body) inside.push_back(path.path);
  }
  const auto found = inside.empty() ? std::vector<JsonFound>{} : find_paths(payload, inside);
  std::vector<std::optional<std::string>> values;
  std::size_t next = 0;
  for (const FieldPath& path : paths) {
    if (path.field == Field::body) {
      values.push_back(scalar_text(found[next++]));
      continue;
    }
    const Header* header = find_header(headers, path.header);
    values.push_back(header == nullptr ? std::nullopt : std::optional(header->value));
  }
  return values;
}

}  // namespace dlo
