#include "dlo/engine/recorder.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "dlo/engine/capture.h"

namespace dlo {
namespace {

constexpr std::size_t largest_batch = 512;
constexpr std::size_t largest_batch_bytes = 8U << 20U;
constexpr Millis put_off_for{30'000};
constexpr std::size_t marks_at_once = 256;
constexpr Millis marks_wait{100};
constexpr Millis first_patience{100};
constexpr Millis longest_patience{5'000};

/// True if the fault is that of one change, so that the others may still be written.
bool is_about_one(Code code) {
  switch (code) {
    case Code::not_found:
    case Code::lease_lost:
    case Code::conflict:
    case Code::invalid_argument:
      return true;
    case Code::full:
    case Code::refused:
    case Code::corrupt:
    case Code::unavailable:
    case Code::timed_out:
      return false;
  }
  return false;
}

Result<void> tell(DeathListener& listener, const DeadLetter& record, OwnerEffect effect) {
  try {
    return listener.on_death(record, effect);
  } catch (...) {
    const Failure failure = failure_of(std::current_exception());
    return Error{Code::unavailable, "engine.death_listener", failure.type + ": " + failure.text};
  }
}

}  // namespace

void Recorder::push(Entry entry) {
  const std::lock_guard lock(mutex_);
  in_.push_back(std::move(entry));
  wake_.notify_one();
}

void Recorder::gather() {
  const std::lock_guard lock(mutex_);
  std::move(in_.begin(), in_.end(), std::back_inserter(entries_));
  in_.clear();
  busy_ = true;
}

/// Whoever owns the message now will find out by himself what becomes of it.
void Recorder::forget_lost() {
  std::vector<Item*> lost;
  std::erase_if(entries_, [&](const Entry& entry) {
    if (entry.durable || !entry.item->lost.load()) return false;
    if (events_ != nullptr) events_->lease_lost(*entry.item->delivery.message);
    lost.push_back(entry.item);
    return true;
  });
  counts_.lost.fetch_add(lost.size());
  pool_.finish(lost);
}

bool Recorder::name_all() {
  for (Entry& entry : entries_) {
    if (entry.plan.named || !entry.plan.record) continue;
    if (auto named = writer_.name(entry.item->delivery, *entry.plan.record); !named) {
      board_.down(StatusBoard::store, named.error());
      return false;
    }
    entry.plan.named = true;
  }
  return true;
}

void Recorder::made_durable(Entry& entry, const Applied& applied) {
  entry.durable = true;
  entry.version = applied.version;
}

Result<void> Recorder::write(std::span<Entry*> batch, TimePoint now) {
  std::vector<Change> changes;
  std::vector<std::size_t> place(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Plan& plan = batch[i]->plan;
    place[i] = changes.size();
    if (plan.kind == Plan::Kind::dead || plan.kind == Plan::Kind::wait) {
      writer_.write(batch[i]->item->delivery, plan.record, plan.attempts, now, changes);
    }
    changes.insert(changes.end(), plan.changes.begin(), plan.changes.end());
  }
  if (changes.empty()) {  // repeats only
    for (Entry* entry : batch) made_durable(*entry, {});
    return {};
  }
  auto applied = office_.apply(changes);
  if (!applied) return applied.error();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    made_durable(*batch[i], place[i] < applied->size() ? (*applied)[place[i]] : Applied{});
  }
  return {};
}

Result<void> Recorder::write_singly(std::span<Entry*> batch, TimePoint now) {
  for (Entry*& entry : batch) {
    auto written = write({&entry, 1}, now);
    if (written) continue;
    if (!is_about_one(written.error().code)) return written;
    if (written.error().code == Code::lease_lost) {
      entry->item->lost.store(true);
    } else {
      put_off(*entry, written.error(), now);
    }
  }
  return {};
}

/// The office will not have this one, now or ever. It stays at its source, out of the way, and the
/// numbers say so.
void Recorder::put_off(Entry& entry, const Error& error, TimePoint now) {
  counts_.unrecordable.fetch_add(1);
  entry.put_off = true;
  entry.durable = true;
  entry.told = true;
  entry.plan.kind = Plan::Kind::release;
  entry.plan.ending =
      Abandoned{false, now + put_off_for, "not recorded: " + error.where + ": " + error.detail};
}

bool Recorder::write_all(TimePoint now) {
  std::vector<Entry*> batch;
  std::size_t bytes = 0;
  const auto send = [&] {
    auto written = write(batch, now);
    if (!written && is_about_one(written.error().code)) written = write_singly(batch, now);
    batch.clear();
    bytes = 0;
    if (!written) {
      board_.down(StatusBoard::store, written.error());
      return false;
    }
    board_.up(StatusBoard::store);
    return true;
  };
  for (Entry& entry : entries_) {
    if (entry.durable) continue;
    batch.push_back(&entry);
    bytes += entry.item->bytes;
    if (batch.size() < largest_batch && bytes < largest_batch_bytes) continue;
    if (!send()) return false;
  }
  return batch.empty() || send();
}

void Recorder::tell_owners(TimePoint now) {
  for (Entry& entry : entries_) {
    if (!entry.durable || entry.told) continue;
    const Plan& plan = entry.plan;
    const bool death = plan.kind == Plan::Kind::dead ||
                       (plan.kind == Plan::Kind::repeat && !is_live(plan.record->status));
    if (listener_ == nullptr || !death) {
      entry.told = true;
    } else if (entry.tell_again <= now) {
      entry.told = tell(*listener_, *plan.record, effect_).has_value();
      if (entry.told) continue;
      entry.patience = std::clamp(entry.patience * 2, first_patience, longest_patience);
      entry.tell_again = now + entry.patience;
    }
  }
}

std::optional<TimePoint> Recorder::next_owed() const {
  std::optional<TimePoint> next;
  for (const Entry& entry : entries_) {
    if (entry.durable && !entry.told && (!next || entry.tell_again < *next)) {
      next = entry.tell_again;
    }
  }
  return next;
}

void Recorder::pass_on() {
  std::vector<Settler::Entry> ready;
  std::erase_if(entries_, [&](Entry& entry) {
    if (!entry.durable || !entry.told) return false;
    Plan& plan = entry.plan;
    if (events_ != nullptr && !entry.put_off) {
      const Message& message = *entry.item->delivery.message;
      if (plan.kind == Plan::Kind::dead) events_->dead_lettered(*plan.record);
      if (plan.kind == Plan::Kind::repeat) events_->repeated(message, plan.record->id);
      if (plan.kind == Plan::Kind::wait && plan.again) events_->retried(message, *plan.again);
    }
    const bool marked = plan.record && plan.record->source_unsettled && !entry.put_off;
    ready.push_back({entry.item, plan.kind, std::move(plan.ending),
                     marked ? std::move(plan.record) : nullptr, entry.version});
    return true;
  });
  settler_.push(std::move(ready));
}

void Recorder::clear_mark(const Settler::Confirmed& confirmed, TimePoint now) {
  auto detail = office_.get(confirmed.record->id);
  if (!detail || !detail->record.source_unsettled) return;
  if (detail->record.occurrence != confirmed.record->occurrence) return;
  Transition transition;
  transition.id = confirmed.record->id;
  transition.expected_version = detail->record.version;
  transition.to = detail->record.status;
  transition.now = now;
  transition.source_unsettled = false;
  const std::vector<Change> changes{std::move(transition)};
  static_cast<void>(office_.apply(changes));  // the mark may stay: it only makes repeats merge
}

void Recorder::clear_marks(std::size_t at_least) {
  settler_.take_confirmed(confirmed_);
  if (confirmed_.size() < at_least || confirmed_.empty()) return;
  const TimePoint now = clock_.now();
  std::vector<Change> changes;
  changes.reserve(confirmed_.size());
  for (const Settler::Confirmed& one : confirmed_) {
    Transition transition;
    transition.id = one.record->id;
    transition.expected_version = one.version;
    transition.to = one.record->status;
    transition.now = now;
    transition.source_unsettled = false;
    changes.emplace_back(std::move(transition));
  }
  if (!office_.apply(changes)) {
    for (const Settler::Confirmed& one : confirmed_) clear_mark(one, now);
  }
  confirmed_.clear();
}

bool Recorder::flush() {
  gather();
  const TimePoint now = clock_.now();
  forget_lost();
  const bool ok = name_all() && write_all(now);
  tell_owners(now);
  pass_on();
  if (ok) {
    patience_.reset();
    clear_marks(marks_at_once);
  }
  const std::lock_guard lock(mutex_);
  busy_ = !entries_.empty();
  held_up_ = !ok;
  look_again_ = ok ? next_owed() : now + patience_.next();
  return ok;
}

void Recorder::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    const TimePoint now = clock_.now();
    const bool due = look_again_ && *look_again_ <= now;
    if (due || (!in_.empty() && !held_up_)) {
      lock.unlock();
      flush();
      lock.lock();
      continue;
    }
    if (stopping_ && ((in_.empty() && !busy_) || now >= deadline_)) return;
    if (!stopping_) {
      lock.unlock();
      clear_marks(1);
      lock.lock();
      if (!in_.empty() && !held_up_) continue;
    }
    TimePoint until = look_again_.value_or(now + marks_wait);
    if (stopping_) until = std::min(until, deadline_);
    if (!stopping_ || until > now) clock_.wait_until(lock, wake_, until);
  }
}

void Recorder::stop(TimePoint deadline) {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  deadline_ = deadline;
  wake_.notify_all();
}

void Recorder::restart() {
  const std::lock_guard lock(mutex_);
  stopping_ = false;
}

bool Recorder::idle() const {
  const std::lock_guard lock(mutex_);
  return in_.empty() && !busy_;
}

}  // namespace dlo
