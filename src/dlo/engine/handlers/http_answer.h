#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/failure.h"
#include "dlo/core/time.h"

namespace dlo {

/// What came back from a push, as far as anybody looks at it.
struct HttpAnswer {
  int status = 0;
  std::string content_type;
  std::string retry_after;
  std::string redirect;  // absolute; empty if there is none
  std::string body;      // its beginning
  bool body_was_cut = false;
};

/// An answer that is not 2xx as a failure. A problem document (RFC 9457) gives type, text and
/// code; any other text goes into the failure's text, cleaned and cut. `to` names the receiver.
[[nodiscard]] Failure failure_of(const HttpAnswer& answer, const std::string& to, TimePoint now);

/// Seconds or an HTTP date, as the wait from `now`: never negative, at most a year. Empty if it
/// is neither.
[[nodiscard]] std::optional<Millis> parse_retry_after(std::string_view text, TimePoint now);

/// "Not Found"; empty for a status nobody registered.
[[nodiscard]] std::string_view status_words(int status) noexcept;

/// Scheme, host, port and path of a URL: fit for logs and records, which user info and query,
/// where credentials travel, are not.
[[nodiscard]] std::string printable_url(std::string_view url);

}  // namespace dlo
