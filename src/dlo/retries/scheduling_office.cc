#include "dlo/retries/scheduling_office.h"

#include <optional>
#include <variant>

namespace dlo {
namespace {

/// A transition without a time of its own may free a record that has one: it is due as before.
std::optional<TimePoint> scheduled_by(const Change& change) {
  if (const auto* append = std::get_if<Append>(&change)) return append->record->next_retry_at;
  const auto* move = std::get_if<Transition>(&change);
  if (move == nullptr || move->clear_next_retry || move->lease_for) return std::nullopt;
  if (move->next_retry_at) return move->next_retry_at;
  const bool may_be_due = move->to == Status::pending || move->to == Status::waiting;
  return may_be_due ? std::optional(move->now) : std::nullopt;
}

/// Somebody set the next retry of one to now, and that was all.
bool is_by_hand(const Change& change) {
  const auto* move = std::get_if<Transition>(&change);
  return move != nullptr && !move->lease && !move->lease_for && !move->reason &&
         move->to == Status::pending && move->next_retry_at && *move->next_retry_at <= move->now;
}

}  // namespace

Result<std::vector<Applied>> SchedulingOffice::apply(std::span<const Change> changes) {
  auto applied = inner().apply(changes);
  if (!applied) return applied;
  for (const Change& change : changes) {
    if (is_by_hand(change)) {
      timer_.hurry();
    } else if (const auto when = scheduled_by(change)) {
      timer_.note(*when);
    }
  }
  return applied;
}

}  // namespace dlo
