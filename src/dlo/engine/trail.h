#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/dead_letter.h"

namespace dlo {

// Earlier attempts of a message that is still alive. They travel with it (`trail` of a broker's
// `Failed` and `Abandoned`), so that a dead letter can tell of all of them although no record
// existed when they happened, and no attempt costs a write of its own.

/// How much one message may carry: the first attempt and the newest ones that fit.
inline constexpr std::size_t trail_attempts = 20;
inline constexpr std::size_t trail_bytes = 8 * 1024;
inline constexpr std::size_t trail_text = 512;  // of one error text
/// How much of its last error: as much as rules look at. Its record, when it dies of that, has all.
inline constexpr std::size_t carried_error = 16 * 1024;

/// Its beginning, of at most `limit` bytes, without tearing a character.
[[nodiscard]] std::string_view beginning(std::string_view text, std::size_t limit);

/// `trail` with one more attempt at its end, within the bounds. Total: what is not a trail is
/// forgotten. A limit of a call stays: whoever ends a run otherwise takes it off.
[[nodiscard]] std::string with_attempt(std::string_view trail, const Attempt& attempt);

/// Oldest first. Lines that cannot be read are left out.
[[nodiscard]] std::vector<Attempt> attempts_of(std::string_view trail);

/// `trail` with the limit of the abandon that releases the message (S3-25), for the check before
/// its next run; empty: without any. Never empty if `trail` is not: that would mean "as it was".
[[nodiscard]] std::string with_call_limit(std::string_view trail,
                                          std::optional<std::uint32_t> limit);
[[nodiscard]] std::optional<std::uint32_t> call_limit_of(std::string_view trail) noexcept;

}  // namespace dlo
