#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/collector/letter.h"

/// How each of them tells of a failure. What is there already is left alone.
namespace dlo::collector {

inline constexpr std::size_t longest_name = 1'024;
inline constexpr std::size_t longest_text = 16'384;  // as far as rules look (R18)
inline constexpr std::size_t longest_stack = 262'144;
inline constexpr std::uint32_t most_attempts = 1'000'000;

/// Well-formed UTF-8 of at most about `longest` bytes; what is cut off is marked.
[[nodiscard]] std::string for_people(std::string_view text, std::size_t longest);
/// A header that is text, bytes or a number; empty otherwise.
[[nodiscard]] std::string text_of(const Headers& headers, std::string_view name,
                                  std::size_t longest);
/// A header that is a whole number of attempts, or a text that says one; zero otherwise.
[[nodiscard]] std::uint32_t count_of(const Headers& headers, std::string_view name);
[[nodiscard]] std::uint32_t at_most(std::uint64_t attempts) noexcept;

/// Between 2000 and now; else somebody's clock or program is wrong, and it tells nothing.
[[nodiscard]] std::optional<TimePoint> credible(std::int64_t seconds, TimePoint now);
[[nodiscard]] std::optional<TimePoint> credible(std::optional<TimePoint> at, TimePoint now);

/// What document 001 adds to a message that it moves to a dead-letter queue.
inline constexpr std::array<std::string_view, 6> booking_death_headers = {
    "x-retry-count", "x-first-attempt",  "x-error-message",
    "x-stack-trace", "x-original-queue", "x-failed-at"};

void read_own(const Headers& headers, TimePoint now, Letter& letter);
void read_booking(const Headers& headers, TimePoint now, Letter& letter);
void read_nservicebus(const Headers& headers, TimePoint now, Letter& letter);
void read_masstransit(const Headers& headers, TimePoint now, Letter& letter);
void read_spring(const Headers& headers, Letter& letter);

}  // namespace dlo::collector
