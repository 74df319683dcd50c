#include "dlo/core/endings.h"
#include "dlo/store/rules.h"

namespace dlo {
namespace {

bool is_back_from_a_replay(const DeadLetter* before, const DeadLetter& after) {
  return before != nullptr && before->occurrence == after.occurrence &&
         before->status == Status::replaying;
}

/// A retry by hand of one that had been exhausted before.
bool was_exhausted(const DeadLetter& before, const DeadLetter& after) {
  if (before.status != Status::retrying) return false;
  return before.reason == after.reason || was_used_up(before);
}

bool is_exhausted_now(const DeadLetter* before, const DeadLetter& after) {
  if (after.status != Status::exhausted || is_back_from_a_replay(before, after)) return false;
  if (before == nullptr || before->occurrence != after.occurrence) return true;
  if (was_exhausted(*before, after)) return false;
  return is_live(before->status) ||
         (is_open(before->status) && before->status != Status::exhausted);
}

/// Somebody set its next retry, and that was all.
bool is_asked_for(const DeadLetter& before, const DeadLetter& after) {
  return (before.status == Status::pending || before.status == Status::exhausted) &&
         after.status == Status::pending && after.occurrence == before.occurrence &&
         after.next_retry_at && after.next_retry_at != before.next_retry_at &&
         after.counters == before.counters && after.reason == before.reason;
}

}  // namespace

TimePoint turn_of(TimePoint due, Priority priority) noexcept {
  // Times are bounded by those who schedule; the ends of time are held all the same.
  if (priority == Priority::high) {
    return due < TimePoint::min() + head_start ? TimePoint::min() : due - head_start;
  }
  if (priority == Priority::low) {
    return due > TimePoint::max() - head_start ? TimePoint::max() : due + head_start;
  }
  return due;
}

Lifetime lifetime_move(const DeadLetter* before, const DeadLetter* after) noexcept {
  Lifetime moved;
  if (after == nullptr) return moved;
  const bool was = before != nullptr && before->died;
  moved.enqueued = after->died && (!was || after->occurrence > before->occurrence) ? 1 : 0;
  moved.exhausted = is_exhausted_now(before, *after) ? 1 : 0;
  if (before == nullptr) return moved;
  moved.archived = after->status == Status::archived && before->status != Status::archived ? 1 : 0;
  moved.manually_retried = is_asked_for(*before, *after) ? 1 : 0;
  if (before->status != Status::retrying || after->occurrence != before->occurrence) return moved;
  if (after->status == Status::resolved) {
    moved.retry_success = after->resolution && after->resolution->how == "retried" ? 1 : 0;
  } else if (after->counters.failure > before->counters.failure) {
    moved.retry_failed = 1;
  }
  return moved;
}

void add(Lifetime& sum, const Lifetime& move) noexcept {
  sum.enqueued += move.enqueued;
  sum.retry_success += move.retry_success;
  sum.retry_failed += move.retry_failed;
  sum.exhausted += move.exhausted;
  sum.manually_retried += move.manually_retried;
  sum.archived += move.archived;
}

}  // namespace dlo
