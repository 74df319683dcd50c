#include "dlo/api/body.h"

#include <set>

#include "dlo/core/spelling.h"

namespace dlo::api {
namespace {

Error bad_body(const std::string& detail) {
  return {Code::invalid_argument, "api.body", detail};
}

}  // namespace

std::string media_type(const Request& request) {
  std::string_view text = request.http.header("Content-Type");
  text = text.substr(0, text.find(';'));
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return ascii_lower(text);
}

std::optional<std::string> repeated_member(const JsonValue& value) {
  std::set<std::string_view> names;
  for (const JsonMember& member : value.members) {
    if (!names.insert(member.name).second) return member.name;
    if (auto inner = repeated_member(member.value)) return member.name + "." + *inner;
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (auto inner = repeated_member(value.items[i])) return std::to_string(i) + "." + *inner;
  }
  return std::nullopt;
}

Result<void> read_object(std::string_view text, const std::function<void(JsonFields&)>& read) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) text = "{}";
  const auto value = parse_json(text, body_depth);
  if (!value) return bad_body("This is not JSON that is taken here: " + value.error().detail);
  if (const auto twice = repeated_member(*value)) {
    return bad_body("The member " + in_quotes(*twice) + " stands twice. Write it once.");
  }
  JsonComplaints complaints("api.body");
  {
    JsonFields fields(*value, "", complaints);
    read(fields);
  }
  if (complaints.first()) return *complaints.first();
  return {};
}

Result<void> read_body(const Request& request, const std::function<void(JsonFields&)>& read) {
  const std::string type = media_type(request);
  if (!request.http.body.empty() && type != "application/json") {
    return bad_body("The body must be JSON and say so (Content-Type: application/json)" +
                    (type.empty() ? std::string(".") : ", not " + in_quotes(type) + "."));
  }
  return read_object(request.http.body, read);
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.push_back({number, line});
  }
  return lines;
}

}  // namespace dlo::api
