#include "dlo/server/http.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dlo/json/writer.h"

namespace dlo {
namespace {

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr std::array<std::pair<int, std::string_view>, 32> phrases{{
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {207, "Multi-Status"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
}};

const HttpHeader* find(const std::vector<HttpHeader>& headers, std::string_view name) noexcept {
  for (const auto& header : headers) {
    if (same_ignoring_case(header.name, name)) return &header;
  }
  return nullptr;
}

}  // namespace

bool same_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view HttpRequest::header(std::string_view name) const noexcept {
  const auto* found = find(headers, name);
  return found == nullptr ? std::string_view() : std::string_view(found->value);
}

bool HttpRequest::has_header(std::string_view name) const noexcept {
  return find(headers, name) != nullptr;
}

std::string_view reason_phrase(int status) noexcept {
  const auto* found = std::find_if(phrases.begin(), phrases.end(),
                                   [status](const auto& row) { return row.first == status; });
  return found == phrases.end() ? std::string_view("Unknown") : found->second;
}

HttpResponse problem(int status, std::string_view code, std::string_view detail) {
  JsonWriter json;
  json.begin_object();
  json.member("type", std::string_view("about:blank"));
  json.member("title", reason_phrase(status));
  json.member("status", static_cast<std::uint64_t>(status));
  json.member("code", code);
  json.key("detail").text(detail);
  json.end_object();
  HttpResponse response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = json.take() + "\n";
  return response;
}

}  // namespace dlo
