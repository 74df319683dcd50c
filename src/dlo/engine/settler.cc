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
    case Plan::Kind::reject:
      return counts.released;
  }
  return counts.released;
}

}  // namespace

/// While it sleeps anything wakes it; while it gathers only what cannot wait.
void Settler::wake_if_needed(bool urgent) {
  urgent_ = urgent_ || urgent;
  if (sleeping_ || urgent_) wake_.notify_one();
}

void Settler::push_completed(std::span<Item* const> items) {
  if (items.empty()) return;
  const bool urgent =
      std::any_of(items.begin(), items.end(), [](const Item* item) { return item->keyed; });
  const std::lock_guard lock(mutex_);
  completed_in_.insert(completed_in_.end(), items.begin(), items.end());
  wake_if_needed(urgent);
}

void Settler::push(Entry entry) {
  const bool urgent = entry.item->keyed;
  const std::lock_guard lock(mutex_);
  entries_in_.push_back(std::move(entry));
  wake_if_needed(urgent);
}

void Settler::push(std::vector<Entry>&& entries) {
  if (entries.empty()) return;
  const bool urgent = std::any_of(entries.begin(), entries.end(),
                                  [](const Entry& entry) { return entry.item->keyed; });
  const std::lock_guard lock(mutex_);
  entries_in_.insert(entries_in_.end(), std::make_move_iterator(entries.begin()),
                     std::make_move_iterator(entries.end()));
  wake_if_needed(urgent);
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
  std::erase_if(entries_, [&](const Entry& entry) {
    if (!lost(entry.item)) return false;
    comes_again(entry);
    return true;
  });
}

void Settler::comes_again(const Entry& entry) {
  if (claims_ == nullptr || !entry.stand_in) return;
  claims_->lost(*entry.item->delivery.message, *entry.stand_in);
}

void Settler::answer(std::size_t place, const SettleAnswer& answer) {
  const bool plain = place < completed_.size();
  Item* item = plain ? completed_[place] : entries_[place - completed_.size()].item;
  ended_.push_back(item);
  if (answer.settled == Settled::lease_lost) {
    counts_.lost.fetch_add(1);
    if (events_ != nullptr) events_->lease_lost(*item->delivery.message);
    if (!plain) comes_again(entries_[place - completed_.size()]);
    return;
  }
  if (plain) return;
  const Entry& entry = entries_[place - completed_.size()];
  if (entry.mark) marks_.settled(*entry.mark);
  count_of(counts_, entry.kind).fetch_add(1);
  if (entry.kind == Plan::Kind::release && events_ != nullptr) {
    events_->released(*item->delivery.message);
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
    urgent_ = false;
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
    const auto answers = broker_.settle(settlements_, clock_.instant());
    ok = answers.has_value();
    if (ok) {
      board_.up(StatusBoard::counts);
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
      board_.source_down(StatusBoard::counts, answers.error());
    }
  }
  pool_.finish(ended_);
  const std::lock_guard lock(mutex_);
  busy_ = !completed_.empty() || !entries_.empty();
  return ok;
}

void Settler::gather(std::unique_lock<std::mutex>& lock) {
  if (const auto left = pace_.left(); left > left.zero()) {
    wake_.wait_for(lock, left, [this] { return urgent_ || stopping_; });
  }
  pace_.begin();
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
      gather(lock);
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

bool Settler::idle() const {
  const std::lock_guard lock(mutex_);
  return completed_in_.empty() && entries_in_.empty() && !busy_;
}

}  // namespace dlo
