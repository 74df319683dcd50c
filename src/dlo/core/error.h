#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlo {

/// What went wrong, in terms a caller can act on. Closed and small on purpose.
enum class Code : std::uint8_t {
  not_found,         // no such record, queue, group or profile
  lease_lost,        // another worker owns the message now, or the token was never ours
  conflict,          // the record changed meanwhile, or is in a state that forbids this
  invalid_argument,  // the caller is wrong and will stay wrong
  full,              // a limit is reached: the same call works once there is room below it
  disk_full,         // no room on the disk: nobody can write until somebody makes some
  refused,           // not allowed here: second writer, newer schema, read-only file
  corrupt,           // stored data is damaged; nothing was overwritten
  unavailable,       // the backend cannot be reached at the moment
  timed_out,         // the deadline passed: the effect may or may not have happened
};

/// True if the identical call may succeed later. No `default`: a new code must be placed by hand.
[[nodiscard]] constexpr bool is_retryable(Code code) noexcept {
  switch (code) {
    case Code::full:
    case Code::disk_full:
    case Code::unavailable:
    case Code::timed_out:
      return true;
    case Code::not_found:
    case Code::lease_lost:
    case Code::conflict:
    case Code::invalid_argument:
    case Code::refused:
    case Code::corrupt:
      return false;
  }
  return false;
}

/// The stable name of a code, as the API, the CLI and metrics print it.
[[nodiscard]] std::string_view name_of(Code code) noexcept;

struct Error {
  Code code = Code::invalid_argument;
  std::string where;   // "sqlite.apply": a stable label, also used by metrics
  std::string detail;  // for people: what happened, to what, what to do next; never parsed
};

}  // namespace dlo
