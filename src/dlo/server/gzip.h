#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlo {

/// Whether an Accept-Encoding header lets us answer in gzip: it or `*` is named, not with q=0.
[[nodiscard]] bool accepts_gzip(std::string_view accept_encoding) noexcept;

/// Whether an answer gains by being packed: large enough, and of a kind that shrinks.
[[nodiscard]] bool is_worth_packing(std::size_t size, std::string_view content_type) noexcept;

/// RFC 1952. Empty if zlib has no memory for it: send the text as it is.
[[nodiscard]] std::optional<std::string> gzip(std::string_view text);

}  // namespace dlo
