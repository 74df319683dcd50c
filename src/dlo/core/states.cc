#include "dlo/core/states.h"

namespace dlo {
namespace {

using S = Status;

constexpr std::array<Status, status_count> every = {
    S::waiting,    S::parked,    S::pending,     S::retrying, S::exhausted,
    S::replaying,  S::replayed,  S::quarantined, S::resolved, S::archived,
    S::discarding, S::discarded, S::expired};

constexpr std::array<std::string_view, status_count> names = {
    "waiting",     "parked",   "pending",  "retrying",   "exhausted", "replaying", "replayed",
    "quarantined", "resolved", "archived", "discarding", "discarded", "expired"};

using Set = std::uint16_t;

constexpr Set only(Status status) {
  return static_cast<Set>(1U << static_cast<unsigned>(status));
}

template <typename... States>
constexpr Set any_of(States... states) {
  return static_cast<Set>((only(states) | ...));
}

constexpr bool holds(Set set, Status status) {
  return (set & only(status)) != 0;
}

constexpr Set live = any_of(S::waiting, S::parked);
constexpr Set open =
    any_of(S::pending, S::retrying, S::exhausted, S::replaying, S::replayed, S::quarantined);
constexpr Set leased = any_of(S::retrying, S::replaying);
constexpr Set restorable = open & static_cast<Set>(~leased);
constexpr Set ending = any_of(S::resolved, S::archived, S::discarding, S::expired);
constexpr Set death = any_of(S::pending, S::exhausted, S::quarantined);

/// Where a record may go. Staying (a change of fields in place) is legal everywhere and left out.
constexpr Set exits_of(Status from) noexcept {
  switch (from) {
    case S::waiting:  // resolved: the retry succeeded; expired: its time to live ran out
      return death | any_of(S::parked, S::resolved, S::expired);
    case S::parked:  // waiting: the head of its key ended and it is next
      return death | any_of(S::waiting, S::resolved, S::expired);
    case S::pending:
      return ending | any_of(S::retrying, S::exhausted, S::replaying, S::quarantined);
    case S::retrying:
      return ending | death;
    case S::exhausted:  // pending: somebody granted it more retries
      return ending | any_of(S::pending, S::retrying, S::replaying, S::quarantined);
    case S::replaying:  // back to where it came from when the target did not confirm
      return ending | death | any_of(S::replayed);
    case S::replayed:  // replaying: the outcome never came and somebody sends it again
      return ending | death | any_of(S::replaying);
    case S::quarantined:  // R9: only these, and nothing automatic
      return any_of(S::replaying, S::resolved, S::archived, S::discarding);
    case S::resolved:  // closed by mistake: it can be opened again
      return restorable | any_of(S::archived, S::discarding, S::expired);
    case S::archived:
      return restorable | any_of(S::resolved, S::discarding, S::expired);
    case S::discarding:  // restore returns to the former state, which may be a closed one
      return restorable | any_of(S::resolved, S::archived, S::discarded);
    case S::discarded:
    case S::expired:
      return 0;
  }
  return 0;
}

}  // namespace

const std::array<Status, status_count>& all_statuses() noexcept {
  return every;
}

std::string_view name_of(Status status) noexcept {
  const auto place = static_cast<std::size_t>(status);
  return place < names.size() ? names[place] : std::string_view("unknown");
}

std::optional<Status> parse_status(std::string_view text) noexcept {
  for (const Status status : every) {
    if (name_of(status) == text) return status;
  }
  return std::nullopt;
}

bool is_live(Status status) noexcept {
  return holds(live, status);
}
bool is_open(Status status) noexcept {
  return holds(open, status);
}
bool is_closed(Status status) noexcept {
  return !is_live(status) && !is_open(status);
}
bool carries_lease(Status status) noexcept {
  return holds(leased, status);
}

bool is_legal(Status from, Status to) noexcept {
  return from == to || holds(exits_of(from), to);
}

}  // namespace dlo
