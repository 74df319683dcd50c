#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlo {

struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method;
  std::string target;  // path and query, as sent
  std::vector<HttpHeader> headers;
  std::string body;
  std::string client;  // the address it came from

  /// The first value of that name (ASCII case ignored); empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
  [[nodiscard]] bool has_header(std::string_view name) const noexcept;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<HttpHeader> headers;  // besides those every answer has
  std::string body;
};

/// ASCII letters alike in either case.
[[nodiscard]] bool same_ignoring_case(std::string_view a, std::string_view b) noexcept;

/// A problem document (RFC 9457). `code` is stable and for programs, `detail` for people.
[[nodiscard]] HttpResponse problem(int status, std::string_view code, std::string_view detail);

/// The words of a status line: "Not Found".
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

}  // namespace dlo
