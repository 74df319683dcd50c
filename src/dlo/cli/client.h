#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/cli/context.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/json/text/value.h"
#include "dlo/server/http.h"

namespace dlo::cli {

/// What a verb asks of the API (docs/api.md).
struct Ask {
  std::string method;
  std::string target;  // path and query: `Address` builds it
  std::string body{};
  std::string type = "application/json";  // of the body
  std::vector<HttpHeader> headers{};
  Millis patience{60'000};
};

/// The API, wherever it is: in another process behind HTTP, or in this one over a data directory
/// that no server works in. Verbs know this alone, so each is written once and does the same.
class Client {
 public:
  virtual ~Client() = default;

  /// The answer, whatever its status. An error: nobody answered; it says what was tried and what to
  /// do.
  [[nodiscard]] virtual Result<HttpResponse> ask(const Ask& ask) = 0;
  /// Who answers, for people: "the server at http://…", "the office in 'dir'".
  [[nodiscard]] virtual std::string name() const = 0;
  /// A server does jobs beyond the life of this process; without one this process does them.
  [[nodiscard]] virtual bool is_server() const noexcept = 0;
};

/// What a verb wants to do: decides how a data directory is opened.
enum class Need : std::uint8_t {
  look,  // also beside whoever works in it
  act,   // there must be an office
  work,  // ... and jobs are done while this process lives
  make,  // the directory is made if there is none
};

/// The server that was named; else the server that works in the data directory; else the directory
/// itself; and if there is no such directory, the server at its usual place.
[[nodiscard]] Result<std::unique_ptr<Client>> connect(const Context& context, Need need);
[[nodiscard]] Result<std::unique_ptr<Client>> connect_to_server(const Context& context,
                                                                const std::string& url);
[[nodiscard]] Result<std::unique_ptr<Client>> connect_to_directory(const Context& context,
                                                                   Need need);

/// A good answer, read. The value points into the text, which it keeps alive.
struct Reply {
  HttpResponse http;
  std::shared_ptr<const std::string> text;
  JsonValue value;
};

/// Asks, and makes an error of every answer that is not good: what the server said and, where this
/// side knows better, what to do.
[[nodiscard]] Result<HttpResponse> ask_for_bytes(Client& client, const Ask& ask);
[[nodiscard]] Result<Reply> ask_for(Client& client, const Ask& ask);

/// The error that such an answer is.
[[nodiscard]] Error error_of(const Client& client, const HttpResponse& answer);

/// A path and query, encoded.
class Address {
 public:
  explicit Address(std::string path) : text_(std::move(path)) {}
  Address& step(std::string_view name);
  Address& with(std::string_view name, std::string_view value);
  /// Left out where empty.
  Address& with_some(std::string_view name, std::string_view value) {
    return value.empty() ? *this : with(name, value);
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  bool has_query_ = false;
};

// What an answer says, read with tolerance: a newer server may say more, an older one less.
[[nodiscard]] const JsonValue& member(const JsonValue& value, std::string_view name) noexcept;
/// A string as it says, other scalars as they stand; empty for null and what is not there.
[[nodiscard]] std::string text_of(const JsonValue& value, std::string_view name);
[[nodiscard]] std::uint64_t number_of(const JsonValue& value, std::string_view name) noexcept;
[[nodiscard]] bool is_true(const JsonValue& value, std::string_view name) noexcept;
[[nodiscard]] std::optional<TimePoint> time_of(const JsonValue& value, std::string_view name);
/// Bytes that may have been written as base64.
[[nodiscard]] std::optional<std::string> bytes_of(const JsonValue& value, std::string_view name);

}  // namespace dlo::cli
