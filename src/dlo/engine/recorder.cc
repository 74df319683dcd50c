#include "dlo/engine/recorder.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "dlo/engine/capture.h"
#include "dlo/store/death_audit.h"

namespace dlo {
namespace {

/// Lists of 512 reach 0.8 of what the office takes by itself, lists of 2048 0.9: a sync is shared
/// by four times as many, and the usual pool is still four of them deep.
constexpr std::size_t largest_batch = 2'048;
constexpr std::size_t largest_batch_bytes = 8U << 20U;
constexpr Millis put_off_for{30'000};
constexpr std::size_t most_marks_owed = 64 * 1024;  // a few megabytes
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
    case Code::disk_full:
    case Code::refused:
    case Code::corrupt:
    case Code::unavailable:
    case Code::timed_out:
      return false;
  }
  return false;
}

}  // namespace

Result<void> tell_owner(DeathListener& listener, const DeadLetter& record, OwnerEffect effect) {
  try {
    return listener.on_death(record, effect);
  } catch (...) {
    const Failure failure = failure_of(std::current_exception());
    return Error{Code::unavailable, "engine.death_listener", failure.type + ": " + failure.text};
  }
}

std::vector<Result<void>> tell_owner(DeathListener& listener,
                                     std::span<const DeadLetter* const> records,
                                     OwnerEffect effect) {
  std::vector<Result<void>> answers;
  try {
    answers = listener.on_deaths(records, effect);
  } catch (...) {
    const Failure failure = failure_of(std::current_exception());
    const Error error{Code::unavailable, "engine.death_listener",
                      failure.type + ": " + failure.text};
    answers.assign(records.size(), error);
  }
  if (answers.size() == records.size()) return answers;
  answers.clear();
  for (const DeadLetter* each : records) answers.push_back(tell_owner(listener, *each, effect));
  return answers;
}

/// A quarter of what may be in flight. A source that hands out few before it hears of them has
/// nothing more to give while they wait here for others.
std::size_t Recorder::enough_of(std::size_t most_in_flight) noexcept {
  return std::clamp<std::size_t>(most_in_flight / 4, 1, largest_batch);
}

/// Not so long that a fast source has handed out half of what it will meanwhile: it goes on while a
/// list is written.
std::chrono::microseconds Recorder::apart(std::size_t most_in_flight) noexcept {
  constexpr std::size_t longest = 20'000;
  constexpr std::size_t each = 8;
  return std::chrono::microseconds{std::min(longest, std::min(longest, most_in_flight) * each)};
}

bool Recorder::enough() const noexcept {
  return stopping_ || urgent_ || in_.size() >= enough_;
}

void Recorder::push(Entry entry) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    urgent_ = urgent_ || entry.item->keyed;
    in_.push_back(std::move(entry));
    wake = !gathering_ || enough();
  }
  if (wake) wake_.notify_one();
}

void Recorder::wait_for_more(std::unique_lock<std::mutex>& lock) {
  if (const auto left = pace_.left(); left > left.zero() && !enough()) {
    gathering_ = true;
    wake_.wait_for(lock, left, [this] { return enough(); });
    gathering_ = false;
  }
  pace_.begin();
}

/// One batch at a time: what is durable goes on to its source, and makes room for more, while the
/// rest is still to be written.
void Recorder::collect() {
  const std::lock_guard lock(mutex_);
  const auto end = in_.begin() + static_cast<std::ptrdiff_t>(std::min(in_.size(), largest_batch));
  std::move(in_.begin(), end, std::back_inserter(entries_));
  in_.erase(in_.begin(), end);
  urgent_ = std::any_of(in_.begin(), in_.end(), [](const Entry& e) { return e.item->keyed; });
  busy_ = true;
}

/// Whoever owns the message now will find out by himself what becomes of it; a record of ours would
/// be a second fate (R5).
void Recorder::forget_lost() {
  // What only its content tells comes again and meets its record, which stands for no other until
  // this one is out of the way.
  const auto may_go = [this](const Entry& entry) {
    return !entry.durable || (claims_of(entry) != nullptr && !entry.put_off);
  };
  std::vector<Item*> unwritten;
  for (const Entry& entry : entries_) {
    if (may_go(entry)) unwritten.push_back(entry.item);
  }
  pool_.mark_lapsed(unwritten, clock_.instant().steady);
  std::vector<Item*> lost;
  std::erase_if(entries_, [&](const Entry& entry) {
    if (!may_go(entry) || !entry.item->lost.load()) return false;
    if (ContentClaims* claims = claims_of(entry)) {
      claims->lost(*entry.item->delivery.message, entry.plan.record->id);
    }
    if (events_ != nullptr) events_->lease_lost(*entry.item->delivery.message);
    lost.push_back(entry.item);
    return true;
  });
  counts_.lost.fetch_add(lost.size());
  pool_.finish(lost);
}

bool Recorder::name_all() {
  for (Entry& entry : entries_) {
    if (entry.durable || !entry.plan.record) continue;
    if (!entry.plan.named) {
      if (auto named = writer_.name(entry.item->delivery, *entry.plan.record); !named) {
        board_.down(StatusBoard::store, named.error());
        return false;
      }
      entry.plan.named = true;
    }
    stand_for(entry);
  }
  return true;
}

Result<void> Recorder::write(std::span<Entry*> batch, TimePoint now, std::size_t most_marks) {
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
  add_death_audit(changes, "engine", now);
  if (most_marks > 0) marks_.put(most_marks, changes);
  std::vector<Applied> answers;
  if (!changes.empty()) {  // repeats alone change nothing
    auto applied = office_.apply(changes);
    if (!applied) {
      marks_.not_written();
      return applied.error();
    }
    answers = std::move(*applied);
  }
  marks_.done();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Entry& entry = *batch[i];
    entry.durable = true;
    if (entry.plan.kind == Plan::Kind::repeat) {
      entry.occurrence = entry.plan.record->occurrence;
    } else if (place[i] < answers.size()) {
      entry.occurrence = answers[place[i]].occurrence;
    }
  }
  return {};
}

Result<void> Recorder::write_singly(std::span<Entry*> batch, TimePoint now) {
  for (Entry*& entry : batch) {
    auto written = write({&entry, 1}, now, 0);
    if (written) continue;
    if (!is_about_one(written.error().code)) return written;
    if (written.error().code == Code::lease_lost) {
      entry->item->lost.store(true);
      if (entry->plan.record) {
        writer_.overruled(entry->plan.record->id, std::move(entry->plan.attempts), now);
      }
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
  if (ContentClaims* claims = claims_of(entry)) claims->used(entry.plan.record->id);
  entry.put_off = true;
  entry.durable = true;
  entry.told = true;
  entry.plan.kind = Plan::Kind::release;
  const std::string why = "not recorded: " + error.where + ": " + error.detail;
  entry.plan.ending = Abandoned{false, now + put_off_for, why};
  if (!entry.item->started) return;
  Counters counters = entry.item->running;  // it ran: only the claim is given back
  if (counters.fetch > 0) --counters.fetch;
  entry.plan.ending =
      Failed{now + put_off_for, counters, why, put_off_for, entry.item->delivery.trail};
}

/// Marks can wait, records cannot: while there are more records to write they go alone, unless so
/// many marks are owed that it is their turn.
std::size_t Recorder::marks_to_take(bool last) const {
  if (marks_.size() >= most_marks_owed) return largest_batch;
  const std::lock_guard lock(mutex_);
  return last && in_.size() < largest_batch ? largest_batch : 0;
}

bool Recorder::send(std::span<Entry*> batch, TimePoint now, bool last) {
  auto written = write(batch, now, marks_to_take(last));
  if (!written && is_about_one(written.error().code)) written = write_singly(batch, now);
  if (!written) {
    board_.down(StatusBoard::store, written.error());
    return false;
  }
  board_.up(StatusBoard::store);
  return true;
}

bool Recorder::write_all(TimePoint now) {
  std::vector<Entry*> batch;
  std::size_t bytes = 0;
  for (Entry& entry : entries_) {
    if (entry.durable) continue;
    batch.push_back(&entry);
    bytes += entry.item->bytes;
    if (batch.size() < largest_batch && bytes < largest_batch_bytes) continue;
    if (!send(batch, now, &entry == &entries_.back())) return false;
    batch.clear();
    bytes = 0;
  }
  return batch.empty() || send(batch, now, true);
}

void Recorder::tell_owners(TimePoint now) {
  std::vector<Entry*> due;
  std::vector<const DeadLetter*> records;
  for (Entry& entry : entries_) {
    if (!entry.durable || entry.told) continue;
    if (!is_to_be_told(entry)) {
      entry.told = true;
    } else if (entry.tell_again <= now) {
      due.push_back(&entry);
      records.push_back(entry.plan.record.get());
    }
  }
  if (due.empty()) return;
  const auto answers = tell_owner(*listener_, records, effect_);
  for (std::size_t i = 0; i < due.size(); ++i) {
    Entry& entry = *due[i];
    entry.told = answers[i].has_value();
    if (entry.told) continue;
    entry.patience = std::clamp(entry.patience * 2, first_patience, longest_patience);
    entry.tell_again = now + entry.patience;
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
    if (!entry.durable || !entry.told || is_to_be_used(entry)) return false;
    Plan& plan = entry.plan;
    if (events_ != nullptr && !entry.put_off) {
      const Message& message = *entry.item->delivery.message;
      if (plan.kind == Plan::Kind::dead) events_->dead_lettered(*plan.record);
      if (plan.kind == Plan::Kind::repeat) events_->repeated(message, plan.record->id);
      if (plan.kind == Plan::Kind::wait && plan.again) events_->retried(message, *plan.again);
    }
    Settler::Entry on{entry.item, plan.kind, std::move(plan.ending), mark_of(entry)};
    if (claims_of(entry) != nullptr && !entry.put_off) on.stand_in = plan.record->id;
    ready.push_back(std::move(on));
    return true;
  });
  settler_.push(std::move(ready));
}

std::optional<SourceSettled> Recorder::mark_of(const Entry& entry) {
  const DeadLetter* record = entry.plan.record.get();
  if (record == nullptr || !record->source_unsettled || entry.put_off || entry.used) {
    return std::nullopt;
  }
  return SourceSettled{record->id, entry.occurrence};
}

void Recorder::clear_marks() {
  const TimePoint now = clock_.now();
  for (std::size_t owed = marks_.size(); owed > 0;) {
    const std::size_t count = std::min(owed, largest_batch);
    if (!write({}, now, count)) return;  // whoever writes next takes them along
    owed -= count;
  }
}

bool Recorder::flush_batch() {
  collect();
  forget_lost();
  const TimePoint now = clock_.now();
  bool ok = name_all() && write_all(now);
  tell_owners(now);
  ok = use_up() && ok;
  pass_on();
  if (ok) patience_.reset();
  const std::lock_guard lock(mutex_);
  busy_ = !entries_.empty();
  held_up_ = !ok;
  look_again_ = ok ? next_owed() : now + patience_.next();
  return ok;
}

bool Recorder::flush() {
  while (flush_batch()) {
    const std::lock_guard lock(mutex_);
    if (in_.empty()) return true;
  }
  return false;
}

void Recorder::run() {
  std::unique_lock lock(mutex_);
  TimePoint marks_at = clock_.now() + marks_wait;
  while (true) {
    const TimePoint now = clock_.now();
    const bool due = look_again_ && *look_again_ <= now;
    if (due || (!in_.empty() && !held_up_)) {
      if (!due) wait_for_more(lock);
      lock.unlock();
      flush_batch();
      lock.lock();
      marks_at = clock_.now() + marks_wait;
      continue;
    }
    if (stopping_ && ((in_.empty() && !busy_) || now >= deadline_)) return;
    if (!stopping_ && !held_up_ && marks_at <= now) {
      lock.unlock();
      clear_marks();
      lock.lock();
      marks_at = clock_.now() + marks_wait;
      continue;
    }
    TimePoint until = stopping_ ? deadline_ : marks_at;
    // What is not in flight can owe no mark, except one that is owed already.
    if (!stopping_ && pool_.size() == 0 && marks_.size() == 0) until = TimePoint::max();
    if (look_again_) {
      until = held_up_ && !stopping_ ? *look_again_ : std::min(until, *look_again_);
    }
    clock_.wait_until(lock, wake_, until);
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
