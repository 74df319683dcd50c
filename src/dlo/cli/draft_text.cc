#include "dlo/cli/draft_text.h"

#include <algorithm>

#include "dlo/cli/client.h"
#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

bool is_text(const std::string& bytes, bool one_line) {
  const bool controls = std::any_of(bytes.begin(), bytes.end(), [one_line](char c) {
    const auto byte = static_cast<unsigned char>(c);
    const bool layout = c == '\t' || (!one_line && (c == '\n' || c == '\r'));
    return (byte < 0x20 && !layout) || byte == 0x7F;
  });
  return !controls && is_utf8(bytes);
}

/// Whether a header survives being a line of text.
bool is_line(const JsonValue& header) {
  const std::string name = text_of(header, "name");
  const std::string value = bytes_of(header, "value").value_or("");
  const bool plain = !name.empty() && name.find(':') == std::string::npos && name[0] != '#' &&
                     name.find_first_of(" \t") == std::string::npos;
  return plain && is_text(name, true) && is_text(value, true) && !value.starts_with(' ') &&
         !value.ends_with(' ');
}

std::optional<std::string> payload_text(const JsonValue& content) {
  auto payload = bytes_of(content, "payload");
  if (payload && !is_text(*payload, false)) return std::nullopt;
  return payload.value_or("");
}

/// Editors end a file with a line break; a payload need not have one.
std::string with_break(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

void write_header(JsonWriter& json, const JsonValue& content, const std::string& name,
                  const std::string& value) {
  json.begin_object().member("name", name).member("value", value);
  for (const JsonValue& each : member(content, "headers").items) {
    const std::string type = text_of(each, "type");
    if (text_of(each, "name") != name || type.empty()) continue;
    json.member("type", type);  // it stays what it was
    break;
  }
  json.end_object();
}

bool says_headers(const JsonValue& content, const DraftText& wanted) {
  std::vector<std::pair<std::string, std::string>> now;
  for (const JsonValue& each : member(content, "headers").items) {
    if (is_line(each)) {
      now.emplace_back(text_of(each, "name"), bytes_of(each, "value").value_or(""));
    }
  }
  return now == wanted.headers;
}

}  // namespace

std::string write_draft(const JsonValue& content, const std::string& remarks) {
  std::string text = remarks;
  for (const JsonValue& each : member(content, "headers").items) {
    const std::string name = text_of(each, "name");
    if (is_line(each)) {
      text += name + ": " + bytes_of(each, "value").value_or("") + "\n";
    } else {
      text += "# A header that is no line of text stays as it is.\n";
    }
  }
  const auto payload = payload_text(content);
  if (!payload) text += "# The payload is no text and stays as it is; --payload FILE changes it.\n";
  return text + "\n" + with_break(payload.value_or(""));
}

Result<DraftText> read_draft(const std::string& text) {
  DraftText draft;
  std::size_t from = 0;
  for (std::size_t number = 1; from < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string line = text.substr(from, end - from);
    from = std::min(end + 1, text.size());
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) break;
    if (line[0] == '#') continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos || colon == 0) {
      return Error{
          Code::invalid_argument, "cli.edit",
          "Line " + std::to_string(number) + " is no header: " + in_quotes(line) +
              ". Headers are NAME: VALUE; an empty line ends them, then comes the payload."};
    }
    const auto value = line.find_first_not_of(' ', colon + 1);
    draft.headers.emplace_back(line.substr(0, colon),
                               value == std::string::npos ? "" : line.substr(value));
  }
  draft.payload = text.substr(from);
  return draft;
}

std::optional<std::string> edit_members(const JsonValue& content, const DraftText& wanted) {
  JsonWriter json;
  json.begin_object();
  bool changes = false;
  if (!says_headers(content, wanted)) {
    changes = true;
    json.key("headers").begin_array();
    for (const JsonValue& each : member(content, "headers").items) {
      if (!is_line(each)) json.raw(each.raw);
    }
    for (const auto& [name, value] : wanted.headers) write_header(json, content, name, value);
    json.end_array();
  }
  const auto before = payload_text(content);
  if (before && with_break(*before) != with_break(wanted.payload)) {
    changes = true;
    std::string payload = wanted.payload;
    if (!before->ends_with('\n') && payload.ends_with('\n')) payload.pop_back();
    json.member("payload", payload);
  }
  json.end_object();
  return changes ? std::optional(json.take()) : std::nullopt;
}

}  // namespace dlo::cli
