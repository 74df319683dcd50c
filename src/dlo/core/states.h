#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dlo {

/// Where a record stands (RULINGS R9, docs/states.md). `waiting` and `parked` are live messages
/// kept in the office: they have their own counters and are never listed as dead letters.
enum class Status : std::uint8_t {
  waiting,      // parked until its next retry is due
  parked,       // behind the head of its key
  pending,      // dead, nobody has acted yet
  retrying,     // its executor is running; carries a lease
  exhausted,    // automatic retries are used up
  replaying,    // being sent back; carries a lease
  replayed,     // the target confirmed; the outcome is awaited
  quarantined,  // loop guard or crash: leaves only by a deliberate act
  resolved,
  archived,
  discarding,  // grace time before removal
  discarded,
  expired,
};
inline constexpr std::size_t status_count = 13;
[[nodiscard]] const std::array<Status, status_count>& all_statuses() noexcept;

[[nodiscard]] std::string_view name_of(Status status) noexcept;
[[nodiscard]] std::optional<Status> parse_status(std::string_view text) noexcept;

/// A live message kept in the office, not a dead letter.
[[nodiscard]] bool is_live(Status status) noexcept;
/// A dead letter somebody still has to deal with.
[[nodiscard]] bool is_open(Status status) noexcept;
/// Ended: no automatic act touches it, and a new message under its id opens a new occurrence.
[[nodiscard]] bool is_closed(Status status) noexcept;
/// `retrying` and `replaying` exist only under a lease.
[[nodiscard]] bool carries_lease(Status status) noexcept;

/// Whether one compare-and-set may lead from `from` to `to`. Staying is legal everywhere: it is a
/// change of fields in place. A live message dies before anyone acts on it as a dead letter.
/// Removal by hand passes through `discarding`, so it can be undone until its grace time ends.
/// Reopening (leaving resolved, archived or discarding for the former state) is legal towards any
/// open state that stands without a lease: nobody holds the lease of a record that was closed.
/// Every state has an exit, except `discarded` and `expired`, which are removal itself.
/// An append that opens a new occurrence (core/identity.h) is not a transition.
[[nodiscard]] bool is_legal(Status from, Status to) noexcept;

}  // namespace dlo
