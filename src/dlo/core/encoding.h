#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/time.h"

namespace dlo {

/// Whether `bytes` are well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing
/// above U+10FFFF). NUL is well-formed.
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

/// `bytes` with every ill-formed sequence replaced by one U+FFFD (maximal subparts, as Unicode
/// recommends). Well-formed text comes back unchanged.
[[nodiscard]] std::string to_utf8(std::string_view bytes);

/// How many bytes of the code point that starts at `at` belong together: 1 for an ill-formed one.
/// For cutting text without tearing a character. `at` must be inside `bytes`.
[[nodiscard]] std::size_t utf8_length(std::string_view bytes, std::size_t at) noexcept;

/// RFC 4648 section 4, padded.
[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Empty unless `text` is exactly what `to_base64` writes for some bytes.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

/// `2026-03-01T12:00:00.000Z`. Years outside 0000..9999 get a sign (`+12026-...`), so that every
/// TimePoint has exactly one text.
[[nodiscard]] std::string to_iso8601(TimePoint time);
/// Reads what `to_iso8601` writes, and RFC 3339 with any number of fraction digits (cut to
/// milliseconds) and any offset. Empty for anything else, also for a time that does not exist.
[[nodiscard]] std::optional<TimePoint> parse_iso8601(std::string_view text) noexcept;

}  // namespace dlo
