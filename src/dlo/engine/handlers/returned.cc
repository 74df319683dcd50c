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
constexpr std::size_t most_tries = 16;  // each may read everything

std::string words_in(const JsonValue* value) {
  if (value == nullptr) return {};
  if (value->kind == JsonKind::string) return clean_text(beginning(value->text(), text_limit));
  if (value->kind == JsonKind::object) return words_in(value->find("message"));
  if (value->kind == JsonKind::array && !value->items.empty()) return words_in(&value->items[0]);
  return {};
}

/// What an object says of the run it is the result of.
std::optional<Outcome> judged(const JsonValue& object) {
  const JsonValue* const status = object.find("status");
  if (status == nullptr || status->kind != JsonKind::string) return std::nullopt;
  const std::string word = status->text();
  if (!says_failed(word)) return std::nullopt;
  std::string text;
  for (const char* const name : {"error", "message", "detail", "errors"}) {
    if (text.empty()) text = words_in(object.find(name));
  }
  if (text.empty()) text = "the executor returned status \"" + word + "\" and no error";
  return failed(failure_type::returned, word, std::move(text));
}

/// To take it for a success would lose the task if it says that it failed.
Outcome unread() {
  return failed(failure_type::returned, "cut",
                "the executor returned a JSON object of more than " +
                    std::to_string(result_limit / (1024 * 1024)) +
                    " MB, of which the rest was not read, so nobody knows whether it says that it "
                    "failed; let it return less, such as its status and its error");
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Where the last line before `end` begins that begins with `{`.
std::size_t last_object_line(std::string_view text, std::size_t end) {
  while (end > 0) {
    const std::size_t at = text.rfind('{', end - 1);
    if (at == std::string_view::npos || at == 0 || text[at - 1] == '\n') return at;
    end = at;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<Outcome> returned_failure(std::string_view result, bool cut) {
  const std::string_view text = without_blanks(result);
  if (!text.starts_with('{')) return std::nullopt;
  if (cut) return unread();
  const auto object = parse_json(text);
  if (!object || object->kind != JsonKind::object) return std::nullopt;
  return judged(*object);
}

std::optional<Outcome> returned_by_program(std::string_view output, bool cut) {
  const std::string_view text = without_blanks(output);
  std::size_t line = text.size();
  // Objects inside of an object may begin a line as well: then the one around them is further up.
  for (std::size_t tries = 0; tries < most_tries; ++tries) {
    line = last_object_line(text, line);
    if (line == std::string_view::npos) break;
    const auto object = parse_json(text.substr(line));
    if (object && object->kind == JsonKind::object) return judged(*object);
  }
  if (cut && text.ends_with('}')) return unread();
  return std::nullopt;
}

}  // namespace dlo
