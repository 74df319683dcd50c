#include "dlo/engine/settler.h"

#include <algorithm>
#include <utility>

namespace dlo {
namespace {

std::atomic<std::uint64_t>& count_of(ProcessorCounts& counts, Plan::Kind kind) {
  switch (kind) {
    case Plan::Kind::complete:
      return counts.succeeded;
    case Plan::Kind::retry:
    case Plan::Kind::wait:
      return counts.retried;
    case Plan::Kind::dead:
      return counts.dead;
    case Plan::Kind::repeat:
      return counts.repeated;
    case Plan::Kind::drop:
      return counts.dropped;
    case Plan::Kind::release:
      return counts.released;
  }
  return counts.released;
}

}  // namespace

void Settler::push_completed(std::span<Item* const> items) {
  if (items.empty()) return;
  const std::lock_guard lock(mutex_);
  completed_in_.insert(completed_in_.end(), items.begin(), items.end());
  if (sleeping_) wake_.notify_one();
}

void Settler::push(Entry entry) {
  const std::lock_guard lock(mutex_);
  entries_in_.push_back(std::move(entry));
  if (sleeping_) wake_.notify_one();
}

void Settler::push(std::vector<Entry>&& entries) {
  if (entries.empty()) return;
  const std::lock_guard lock(mutex_);
  entries_in_.insert(entries_in_.end(), std::make_move_iterator(entries.begin()),
                     std::make_move_iterator(entries.end()));
  if (sleeping_) wake_.notify_one();
}

/// Somebody else owns these now, and their result is theirs to find.
void Settler::forget_lost() {
  const auto lost = [this](Item* item) {
    if (!item->lost.load()) return false;
    if (events_ != nullptr) events_->lease_lost(*item->delivery.message);
    counts_.lost.fetch_add(1);
    ended_.push_back(item);
    return true;
  };
  std::erase_if(completed_, lost);
  std::erase_if(entries_, [&](const Entry& entry) { return lost(entry.item); });
}

void Settler::answer(std::size_t place, const SettleAnswer& answer) {
  const bool plain = place < completed_.size();
  Item* item = plain ? completed_[place] : entries_[place - completed_.size()].item;
  ended_.push_back(item);
  if (answer.settled == Settled::lease_lost) {
    counts_.lost.fetch_add(1);
    if (events_ != nullptr) events_->lease_lost(*item->delivery.message);
    return;
  }
  if (plain) return;
  Entry& entry = entries_[place - completed_.size()];
  count_of(counts_, entry.kind).fetch_add(1);
  if (entry.kind == Plan::Kind::release && events_ != nullptr) {
    events_->released(*item->delivery.message);
  }
  if (entry.unsettled) {
    const std::lock_guard lock(mutex_);
    confirmed_.push_back({std::move(entry.unsettled), entry.version});
  }
}

bool Settler::flush() {
  {
    const std::lock_guard lock(mutex_);
    if (completed_.empty()) {
      completed_.swap(completed_in_);
    } else {
      completed_.insert(completed_.end(), completed_in_.begin(), completed_in_.end());
      completed_in_.clear();
    }
    std::move(entries_in_.begin(), entries_in_.end(), std::back_inserter(entries_));
    entries_in_.clear();
    busy_ = true;
  }
  ended_.clear();
  forget_lost();
  bool ok = true;
  if (!completed_.empty() || !entries_.empty()) {
    settlements_.clear();
    settlements_.reserve(completed_.size() + entries_.size());
    for (const Item* item : completed_) settlements_.push_back({item->delivery.lease, Completed{}});
    for (const Entry& entry : entries_) {
      settlements_.push_back({entry.item->delivery.lease, entry.ending});
    }
    const auto answers = broker_.settle(settlements_, clock_.now());
    ok = answers.has_value();
    if (ok) {
      board_.up(StatusBoard::source);
      std::size_t done = 0;
      for (std::size_t i = 0; i < answers->size(); ++i) {
        if (i < completed_.size() && (*answers)[i].settled == Settled::done) ++done;
        answer(i, (*answers)[i]);
      }
      counts_.succeeded.fetch_add(done);
      completed_.clear();
      entries_.clear();
    } else {
      board_.down(StatusBoard::source, answers.error());
    }
  }
  pool_.finish(ended_);
  const std::lock_guard lock(mutex_);
  busy_ = !completed_.empty() || !entries_.empty();
  return ok;
}

void Settler::run() {
  Patience patience(Millis{50}, Millis{2'000});
  while (true) {
    {
      std::unique_lock lock(mutex_);
      while (completed_in_.empty() && entries_in_.empty() && !busy_) {
        if (stopping_) return;
        sleeping_ = true;
        wake_.wait(lock);
        sleeping_ = false;
      }
    }
    if (flush()) {
      patience.reset();
      continue;
    }
    std::unique_lock lock(mutex_);
    if (stopping_ && clock_.now() >= deadline_) return;
    const TimePoint again = clock_.now() + patience.next();
    while (clock_.now() < again && !(stopping_ && clock_.now() >= deadline_)) {
      clock_.wait_until(lock, wake_, again);
    }
  }
}

void Settler::stop(TimePoint deadline) {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  deadline_ = deadline;
  wake_.notify_all();
}

void Settler::restart() {
  const std::lock_guard lock(mutex_);
  stopping_ = false;
}

void Settler::take_confirmed(std::vector<Confirmed>& out) {
  const std::lock_guard lock(mutex_);
  out.insert(out.end(), std::make_move_iterator(confirmed_.begin()),
             std::make_move_iterator(confirmed_.end()));
  confirmed_.clear();
}

bool Settler::idle() const {
  const std::lock_guard lock(mutex_);
  return completed_in_.empty() && entries_in_.empty() && !busy_;
}

}  // namespace dlo
