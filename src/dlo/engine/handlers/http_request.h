#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/engine/handler.h"
#include "dlo/engine/handlers/signature.h"

namespace dlo {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// Servers refuse requests whose headers are too big, and with them the message for good. What
/// does not fit is left out and counted in `dlo-headers-omitted`.
inline constexpr std::size_t http_header_value_limit = 4 * 1024;
inline constexpr std::size_t http_headers_limit = 12 * 1024;

/// What the receiver is told beside the body (names: README.md). Every name is an RFC 9110 token
/// and every value printable ASCII, whatever bytes the message holds.
[[nodiscard]] HttpHeaders push_headers(const Message& message, const RunContext& context,
                                       const std::vector<std::string>& pass_headers,
                                       const Signer& signer, TimePoint now);

/// The CloudEvents HTTP binding's rule for header values: blank, quote, percent and everything
/// that is not printable ASCII becomes %XX.
[[nodiscard]] std::string percent_encode(std::string_view value);

/// Whether `text` may be a header name (RFC 9110 token).
[[nodiscard]] bool is_header_name(std::string_view text) noexcept;
/// Whether `text` may be a header value as it is: printable ASCII, blanks inside.
[[nodiscard]] bool is_header_value(std::string_view text) noexcept;

}  // namespace dlo
