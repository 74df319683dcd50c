#include "dlo/server/answer_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>

#include "dlo/server/gzip.h"

namespace dlo {
namespace {

/// A header cannot smuggle a second one, whatever a handler put into it.
void append_value(std::string& out, std::string_view value) {
  const auto ends_it = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F;
  };
  const std::size_t begin = out.size();
  out += value;
  std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), ends_it, ' ');
}

/// "Sun, 06 Nov 1994 08:49:37 GMT", made once a second.
std::string_view date_text() {
  thread_local std::time_t made = 0;
  thread_local std::array<char, 40> text{};
  const std::time_t now = std::time(nullptr);
  if (now != made) {
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    // Not strftime: names of days and months are English whatever the locale.
    constexpr std::array<const char*, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr std::array<const char*, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                  days[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday % 100,
                  months[static_cast<std::size_t>(parts.tm_mon)], (parts.tm_year + 1900) % 10'000,
                  parts.tm_hour % 100, parts.tm_min % 100, parts.tm_sec % 100);
    made = now;
  }
  return text.data();
}

bool says_date(const HttpResponse& response) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [](const HttpHeader& each) { return same_ignoring_case(each.name, "Date"); });
}

void append_head(std::string& out, const HttpResponse& response, const AnswerForm& form) {
  out += "HTTP/1.1 ";
  out += std::to_string(response.status);
  out += ' ';
  out += reason_phrase(response.status);
  // What a browser may do with it: nothing but show it. (A list of two policies.)
  out +=
      "\r\nServer: dlo\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
      "Content-Security-Policy: default-src 'none', frame-ancestors 'none'\r\n";
  if (form.hsts > Millis{0}) {
    out += "Strict-Transport-Security: max-age=";
    out += std::to_string(std::chrono::duration_cast<std::chrono::seconds>(form.hsts).count());
    out += "\r\n";
  }
  if (!says_date(response)) {
    out += "Date: ";
    out += date_text();
    out += "\r\n";
  }
  if (!response.content_type.empty()) {
    out += "Content-Type: ";
    append_value(out, response.content_type);
    out += "\r\n";
  }
  for (const auto& header : response.headers) {
    out += header.name;
    out += ": ";
    append_value(out, header.value);
    out += "\r\n";
  }
}

bool has_body(int status) noexcept {
  return status >= 200 && status != 204 && status != 304;
}

}  // namespace

std::string answer_text(HttpResponse response, const AnswerForm& form) {
  bool varies = false;
  if (is_worth_packing(response.body.size(), response.content_type)) {
    varies = true;
    if (form.gzip) {
      if (auto packed = gzip(response.body)) {
        response.body = std::move(*packed);
        response.headers.push_back({"Content-Encoding", "gzip"});
      }
    }
  }
  std::string out;
  out.reserve(512 + response.body.size());
  append_head(out, response, form);
  if (varies) out += "Vary: Accept-Encoding\r\n";
  if (has_body(response.status)) {
    out += "Content-Length: ";
    out += std::to_string(response.body.size());
    out += "\r\n";
  }
  out += form.keep_alive ? (form.is_1_0 ? "Connection: keep-alive\r\n\r\n" : "\r\n")
                         : "Connection: close\r\n\r\n";
  if (!form.head_only && has_body(response.status)) out += response.body;
  return out;
}

std::string stream_head_text(const HttpResponse& head, const AnswerForm& form) {
  std::string out;
  append_head(out, head, form);
  out += form.is_1_0 ? "" : "Transfer-Encoding: chunked\r\n";
  out += form.keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  out += piece_text(head.body, form);
  return out;
}

std::string piece_text(std::string_view piece, const AnswerForm& form) {
  std::string out;
  if (piece.empty() || form.head_only) return out;  // an empty chunk would be the end
  if (form.is_1_0) return std::string(piece);
  std::array<char, 16> size{};
  const auto end = std::to_chars(size.data(), size.data() + size.size(), piece.size(), 16).ptr;
  out.reserve(piece.size() + 16);
  out.append(size.data(), end);
  out += "\r\n";
  out += piece;
  out += "\r\n";
  return out;
}

std::string stream_end_text(const AnswerForm& form) {
  return form.is_1_0 || form.head_only ? "" : "0\r\n\r\n";
}

}  // namespace dlo
