#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

/// What a death does to its key, where keys are in order (R10).
enum class OnDeath : std::uint8_t {
  go_on,  // the next of the key is handed out
  hold,   // the others of the key wait until QueueAdmin::free_key
};
[[nodiscard]] std::string_view name_of(OnDeath on_death) noexcept;  // "continue" and "hold"
[[nodiscard]] std::optional<OnDeath> parse_on_death(std::string_view text) noexcept;

/// How a source that is our own (memory, embedded, PostgreSQL) treats its messages.
struct SourceOptions {
  std::string source;  // stamped on what it delivers; empty: messages keep theirs

  // A publication that would go beyond is refused with Code::full; what is here never is dropped.
  std::optional<std::uint64_t> max_messages;
  std::optional<std::uint64_t> max_bytes;

  Millis dedupe_window{0};  // zero: nobody remembers dedupe ids
  Millis ageing{30'000};    // after this long a message passes newer ones of the next priority;
                            // zero: priorities mean nothing
  bool keys_in_order = true;
  OnDeath on_death = OnDeath::go_on;
  bool claims_count = false;  // durable-fetch: a claim that never started stays counted
  std::optional<Millis> ttl;  // for messages without their own expires_at
  bool drop_expired = false;  // a legal loss (R8), counted; false: handed out as `expired`
};

/// Refuses what cannot be meant, and says which setting and what would be right.
[[nodiscard]] Result<void> check(const SourceOptions& options);

/// So many messages of so many bytes.
struct Load {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// Whether `more` fits beside what is `here`: Code::full if not, invalid_argument if it never will.
/// `where` labels the error.
[[nodiscard]] Result<void> check_room(const SourceOptions& options, const Load& here,
                                      const Load& more, const char* where);

}  // namespace dlo
