#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "dlo/core/failure.h"

namespace dlo {

/// `Failure::type` and `Failure::code` as these handlers report them, so that rules can name them.
/// Further codes: "exit:N" and "signal:N" of commands. HTTP answers carry `Failure::status` and,
/// where there was one, the problem document's `type`.
namespace failure_type {
inline constexpr std::string_view command_failed = "CommandFailed";       // exit status not zero
inline constexpr std::string_view command_killed = "CommandKilled";       // ended by a signal
inline constexpr std::string_view command_missing = "CommandNotStarted";  // could not be started
inline constexpr std::string_view http_status = "HttpStatus";             // an answer, but not 2xx
inline constexpr std::string_view http_transport = "HttpTransport";       // no complete answer
inline constexpr std::string_view timeout = "HandlerTimeout";
inline constexpr std::string_view stopped = "HandlerStopped";
inline constexpr std::string_view worker_lost = "WorkerLost";    // a pull worker fell silent
inline constexpr std::string_view returned = "ReturnedFailure";  // ended well, and says it failed
inline constexpr std::string_view json = "JsonException";        // the payload cannot be decoded
inline constexpr std::string_view schema = "SchemaViolation";
inline constexpr std::string_view missing_header = "MissingHeader";
inline constexpr std::string_view missing_event_type = "MissingEventTypeHeader";
}  // namespace failure_type

namespace failure_code {
inline constexpr std::string_view timed_out = "timed_out";
inline constexpr std::string_view stopped = "stopped";  // by the engine, before the time was up
inline constexpr std::string_view not_started = "not_started";
inline constexpr std::string_view lease_expired = "lease_expired";
inline constexpr std::string_view exit_unknown = "exit:unknown";
inline constexpr std::string_view dns = "dns";
inline constexpr std::string_view connection_refused = "connection_refused";
inline constexpr std::string_view connection_failed = "connection_failed";
inline constexpr std::string_view connection_reset = "connection_reset";
inline constexpr std::string_view tls = "tls";
inline constexpr std::string_view protocol = "protocol";  // what came back was not HTTP
inline constexpr std::string_view redirect = "redirect";  // not followed: see HttpOptions
inline constexpr std::string_view transport = "transport";
}  // namespace failure_code

/// An outcome that failed with a type, a code and a text for people.
[[nodiscard]] Outcome failed(std::string_view type, std::string code, std::string text);

/// Text of an unknown program made fit for records: ill-formed UTF-8 and NUL become U+FFFD,
/// terminal control sequences go, other control characters become spaces, line ends become \n,
/// blanks at both ends go.
[[nodiscard]] std::string clean_text(std::string_view text);

/// The end of a stream, in bounded memory: of error output the last words tell the most.
class Tail {
 public:
  /// `limit` is for people; `room` beyond it for whoever wants more of the end as it came.
  explicit Tail(std::size_t limit, std::size_t room = 0)
      : limit_(limit), room_(std::max(limit, room)) {}
  void add(std::string_view bytes);
  /// clean_text of the last of it, after a note about what was left out.
  [[nodiscard]] std::string text() const;
  /// All that was kept.
  [[nodiscard]] std::string_view end() const noexcept;
  [[nodiscard]] bool was_cut() const noexcept { return total_ > end().size(); }
  [[nodiscard]] bool empty() const noexcept { return total_ == 0; }

 private:
  std::size_t limit_;
  std::size_t room_;
  std::string kept_;  // up to twice the room, so that cutting is rare
  std::uint64_t total_ = 0;
};

}  // namespace dlo
