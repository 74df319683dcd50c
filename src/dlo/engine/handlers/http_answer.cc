#include "dlo/engine/handlers/http_answer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <curl/curl.h>
#include <utility>

#include "dlo/core/spelling.h"
#include "dlo/engine/handlers/failures.h"
#include "dlo/json/text/value.h"

namespace dlo {

namespace {

constexpr std::size_t text_limit = 4 * 1024;
constexpr std::size_t stack_limit = 32 * 1024;
constexpr Millis longest_wait = std::chrono::hours(24 * 365);

struct Problem {
  std::string type;
  std::string title;
  std::string detail;
  std::string code;
  std::string stack;
};

std::string media_type(std::string_view content_type) {
  std::string out = ascii_lower(content_type.substr(0, content_type.find(';')));
  out.erase(std::remove(out.begin(), out.end(), ' '), out.end());
  return out;
}

std::string short_text(std::string_view text, std::size_t limit = text_limit) {
  if (text.size() <= limit) return clean_text(text);
  return clean_text(text.substr(0, limit)) + " [cut]";
}

std::string text_member(const JsonValue& object, std::string_view name,
                        std::size_t limit = text_limit) {
  const JsonValue* value = object.find(name);
  if (value == nullptr) return {};
  if (value->kind == JsonKind::number) return short_text(value->raw);
  return short_text(value->text(), limit);
}

std::optional<Problem> parse_problem(const HttpAnswer& answer) {
  if (media_type(answer.content_type) != "application/problem+json") return std::nullopt;
  const auto value = parse_json(answer.body);
  if (!value || value->kind != JsonKind::object) return std::nullopt;
  return Problem{text_member(*value, "type"), text_member(*value, "title"),
                 text_member(*value, "detail"), text_member(*value, "code"),
                 text_member(*value, "stack", stack_limit)};
}

bool is_text(std::string_view media) {
  return media.empty() || media.starts_with("text/") || media == "application/json" ||
         media.ends_with("+json") || media == "application/xml" || media.ends_with("+xml");
}

std::string first_line(const HttpAnswer& answer) {
  std::string line = "HTTP " + std::to_string(answer.status);
  if (const auto phrase = status_words(answer.status); !phrase.empty()) {
    line += " " + std::string(phrase);
  }
  return line;
}

}  // namespace

Failure failure_of(const HttpAnswer& answer, const std::string& to, TimePoint now) {
  Failure failure;
  failure.type = failure_type::http_status;
  failure.status = answer.status;
  failure.retry_after = parse_retry_after(answer.retry_after, now);
  failure.text = first_line(answer) + " from " + to;
  if (answer.status >= 300 && answer.status < 400 && !answer.redirect.empty()) {
    failure.code = failure_code::redirect;
    failure.text += ", which points to " + printable_url(answer.redirect) +
                    ". Only 307 and 308 to the same scheme, host and port are followed; if the "
                    "new address is right, make it the handler's url";
    return failure;
  }
  if (const auto problem = parse_problem(answer)) {
    if (!problem->type.empty() && problem->type != "about:blank") failure.type = problem->type;
    failure.code = problem->code;
    failure.stack = problem->stack;
    for (const auto* part : {&problem->title, &problem->detail}) {
      if (!part->empty()) failure.text += ": " + *part;
    }
    return failure;
  }
  if (is_text(media_type(answer.content_type))) {
    const std::string body = short_text(answer.body);
    if (!body.empty()) failure.text += ": " + body;
  }
  return failure;
}

std::optional<Millis> parse_retry_after(std::string_view text, TimePoint now) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.empty() || text.size() > 64) return std::nullopt;
  if (text.find_first_not_of("0123456789") == std::string_view::npos) {
    std::int64_t seconds = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
    const bool huge = read.ec != std::errc{} || seconds > longest_wait / std::chrono::seconds(1);
    return huge ? longest_wait : Millis(std::chrono::seconds(seconds));
  }
  // A date has a weekday first; curl_getdate alone would take many things for dates.
  const bool letter =
      (text.front() >= 'A' && text.front() <= 'Z') || (text.front() >= 'a' && text.front() <= 'z');
  const auto seconds = letter ? ::curl_getdate(std::string(text).c_str(), nullptr) : -1;
  if (seconds < 0) return std::nullopt;
  const TimePoint when{std::chrono::seconds(seconds)};
  return std::clamp(std::chrono::duration_cast<Millis>(when - now), Millis{0}, longest_wait);
}

std::string_view status_words(int status) noexcept {
  static constexpr std::array<std::pair<int, std::string_view>, 46> phrases{{
      {300, "Multiple Choices"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {402, "Payment Required"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {407, "Proxy Authentication Required"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {418, "(Unused)"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {423, "Locked"},
      {424, "Failed Dependency"},
      {425, "Too Early"},
      {426, "Upgrade Required"},
      {428, "Precondition Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {451, "Unavailable For Legal Reasons"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
      {506, "Variant Also Negotiates"},
      {507, "Insufficient Storage"},
      {508, "Loop Detected"},
      {511, "Network Authentication Required"},
  }};
  const auto* found = std::find_if(phrases.begin(), phrases.end(),
                                   [status](const auto& row) { return row.first == status; });
  return found == phrases.end() ? std::string_view{} : found->second;
}

std::string printable_url(std::string_view url) {
  std::string_view rest = url.substr(0, url.find_first_of("?#"));
  std::string out;
  if (const auto scheme = rest.find("://"); scheme != std::string_view::npos) {
    out = rest.substr(0, scheme + 3);
    rest.remove_prefix(scheme + 3);
  }
  const auto path = std::min(rest.find('/'), rest.size());
  if (const auto user = rest.substr(0, path).rfind('@'); user != std::string_view::npos) {
    rest.remove_prefix(user + 1);
  }
  return clean_text(out + std::string(rest));
}

}  // namespace dlo
