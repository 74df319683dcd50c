#include "dlo/engine/put_off.h"

#include <algorithm>
#include <span>
#include <utility>

namespace dlo {
namespace {

constexpr std::size_t most = 100'000;
constexpr std::size_t written_at_once = 200;

/// As a claim that is given back: nobody asked for a retry of this one, so none is counted.
void put_forward(const DeadLetter& record, TimePoint now, std::vector<Change>& changes) {
  Transition move;
  move.id = record.id;
  move.expected_version = record.version;
  move.now = now;
  if (record.status == Status::pending) {
    move.to = Status::retrying;
    move.lease_for = Millis{1'000};
    changes.emplace_back(move);
    move.expected_version.reset();
    move.lease_for.reset();
  }
  move.to = record.status;
  move.next_retry_at = now;
  changes.emplace_back(std::move(move));
}

bool still_waits(const DeadLetter& record, TimePoint until, TimePoint now) {
  const bool at_rest = record.status == Status::pending || record.status == Status::waiting;
  return at_rest && until > now && record.next_retry_at == until;
}

/// One write for all; if somebody moved one of them meanwhile, each by itself.
std::size_t write(Office& office, const std::vector<std::vector<Change>>& moves) {
  std::vector<Change> all;
  for (const auto& move : moves) all.insert(all.end(), move.begin(), move.end());
  if (all.empty()) return 0;
  const auto together = office.apply(all);
  if (together) return moves.size();
  if (is_retryable(together.error().code)) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(
      moves, [&](const auto& move) { return office.apply(move).has_value(); }));
}

}  // namespace

void PutOff::add(const RecordId& id, TimePoint until) {
  const std::lock_guard lock(mutex_);
  if (until_.size() >= most && !until_.contains(id)) return;
  until_[id] = until;
}

void PutOff::forget(const RecordId& id) {
  const std::lock_guard lock(mutex_);
  until_.erase(id);
  coming_.erase(id);
}

void PutOff::call() {
  calls_.fetch_add(1);
  const std::lock_guard lock(mutex_);
  coming_.merge(until_);
  for (const auto& [id, until] : until_) coming_[id] = until;  // called before, put off again
  until_.clear();
  called_ = !coming_.empty();
}

PutOff::Moments PutOff::take_called(std::size_t limit) {
  const std::lock_guard lock(mutex_);
  Moments taken;
  while (!coming_.empty() && taken.size() < limit) taken.insert(coming_.extract(coming_.begin()));
  called_ = !coming_.empty();
  return taken;
}

std::size_t PutOff::bring(Office& office, TimePoint now, std::size_t limit) {
  std::size_t came = 0;
  std::vector<std::vector<Change>> moves;
  for (const auto& [id, until] : take_called(limit)) {
    const auto detail = office.get(id);
    if (!detail || !still_waits(detail->record, until, now)) continue;
    put_forward(detail->record, now, moves.emplace_back());
    if (moves.size() < written_at_once) continue;
    came += write(office, moves);
    moves.clear();
  }
  return came + write(office, moves);
}

}  // namespace dlo
