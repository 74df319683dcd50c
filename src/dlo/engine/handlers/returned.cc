#include "dlo/engine/handlers/returned.h"

#include <algorithm>
#include <string>

#include "dlo/core/returned.h"
#include "dlo/engine/handlers/failures.h"
#include "dlo/engine/trail.h"
#include "dlo/json/text/value.h"

namespace dlo {
namespace {

constexpr std::size_t text_limit = 4 * 1024;

std::string words_in(const JsonValue* value) {
  if (value == nullptr) return {};
  if (value->kind == JsonKind::string) return clean_text(beginning(value->text(), text_limit));
  if (value->kind == JsonKind::object) return words_in(value->find("message"));
  if (value->kind == JsonKind::array && !value->items.empty()) return words_in(&value->items[0]);
  return {};
}

}  // namespace

std::optional<Outcome> returned_failure(std::string_view result) {
  const std::size_t begin = result.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || result[begin] != '{') return std::nullopt;
  const auto object = parse_json(result);
  if (!object || object->kind != JsonKind::object) return std::nullopt;
  const JsonValue* const status = object->find("status");
  if (status == nullptr || status->kind != JsonKind::string) return std::nullopt;
  const std::string word = status->text();
  if (!says_failed(word)) return std::nullopt;
  std::string text;
  for (const char* const name : {"error", "message", "detail", "errors"}) {
    if (text.empty()) text = words_in(object->find(name));
  }
  if (text.empty()) text = "the executor returned status \"" + word + "\" and no error";
  return failed(failure_type::returned, word, std::move(text));
}

std::optional<Outcome> returned_by_program(std::string_view output) {
  if (auto whole = returned_failure(output)) return whole;
  const std::size_t end = output.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  output = output.substr(0, end + 1);
  const std::size_t line = output.rfind('\n');
  return line == std::string_view::npos ? std::nullopt : returned_failure(output.substr(line + 1));
}

}  // namespace dlo
