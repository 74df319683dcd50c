// Checkpoints, segments that nobody needs, stragglers.
#include <algorithm>
#include <utility>

#include "dlo/broker/embedded/checkpoint.h"
#include "dlo/broker/embedded/claim.h"
#include "dlo/broker/embedded/depot.h"
#include "dlo/journal/crc32c.h"

namespace dlo::embedded {
namespace {

constexpr std::uint64_t checkpoint_share =
    8;                                       // a checkpoint is at most this part of what is written
constexpr std::uint64_t slack_segments = 2;  // not worth moving anything for

/// Work goes on without checkpoints, but the journal grows.
std::string told(const Error& error) {
  return "the last checkpoint could not be written, so the journal grows and the next start will "
         "take longer: " +
         error.detail;
}

}  // namespace

std::uint64_t Depot::checkpoint_interval() const noexcept {
  // Tidying looks at every message: what it may cost follows from how much there is.
  if (crowded_) return std::max(options_.journal.segment_size, holdings_.segments().bytes() / 16);
  return std::max(options_.checkpoint_every, checkpoint_share * checkpoint_size_);
}

bool Depot::checkpoint_due() const noexcept {
  // On a full disk whatever is gone is worth it: nobody can write, so no more will go.
  const bool helps = full_ && holdings_.segments().dropped() > 0;
  return appended_ >= checkpoint_interval() || much_is_gone() || helps;
}

/// What ends messages is small: a queue that is emptied or purged would keep its segments until
/// somebody writes as much again, and on a full disk nobody can. As much as is alive has to be
/// gone, so that what tidying costs follows from what it frees.
bool Depot::much_is_gone() const noexcept {
  const SegmentUses& uses = holdings_.segments();
  return uses.dropped() >= std::max(slack_segments * options_.journal.segment_size, uses.bytes());
}

/// Call it where messages went. Needs the lock.
void Depot::tidy_if_due() {
  if (housekeeper_.joinable() && checkpoint_due()) housekeeping_.notify_one();
}

/// The disk is to hold at most twice what is alive, but for a few segments, so tidying begins well
/// before. Asked when a segment is full, so that it costs nothing.
bool Depot::is_crowded() {
  return holds_more_than(13);
}

/// ... so many tenths of what is alive.
bool Depot::holds_more_than(std::uint64_t tenths) {
  const auto used = journal_->stats().disk_bytes + checkpoint_size_;
  const auto live = holdings_.segments().bytes();
  return used > live / 10 * tenths + slack_segments * options_.journal.segment_size;
}

/// Publishers that write faster than stragglers can be moved wait for housekeeping, a little each
/// time: the disk must not fill with segments of which a few old messages are left.
void Depot::wait_for_housekeeping(Lock& lock) {
  if (housekeeping_keeps_up()) return;
  tidied_.wait_for(lock, Millis{100}, [&] { return stopping_ || housekeeping_keeps_up(); });
}

bool Depot::housekeeping_keeps_up() const noexcept {
  const auto ahead = std::max(options_.journal.segment_size, holdings_.segments().bytes() / 8);
  return !housekeeper_.joinable() || untidied_ < checkpoint_interval() + ahead;
}

/// `again`: something failed, for want of room as a rule. There may be some soon, though nobody
/// writes.
void Depot::wait_for_work(Lock& lock, bool again) {
  const auto due = [this] {
    return stopping_ || checkpoint_due() || broken_ == Broken::seen || !untold_.empty();
  };
  if (!again) return housekeeping_.wait(lock, due);
  housekeeping_.wait_for(lock, options_.housekeeping_again, due);
}

void Depot::housekeep() {
  Lock lock(mutex_);
  bool again = false;
  while (!stopping_) {
    wait_for_work(lock, again);
    if (stopping_) return;
    if (const auto text = std::exchange(untold_, ""); !text.empty()) {
      lock.unlock();
      if (options_.on_trouble) options_.on_trouble(text);
      lock.lock();
      continue;
    }
    const auto covered = untidied_;
    lock.unlock();
    const auto done = tidy();
    const auto journal = journal_->health();
    const bool broken = !journal && journal.error().code == Code::unavailable;
    const std::string trouble = broken ? journal.error().detail : done ? "" : told(done.error());
    lock.lock();
    broken_ = broken ? Broken::told : Broken::no;
    const bool news = std::exchange(trouble_, trouble) != trouble;
    if (news && options_.on_trouble) {
      lock.unlock();
      options_.on_trouble(trouble);
      lock.lock();
    }
    again = !done && !broken;
    if (!done) {
      appended_ = 0;
      holdings_.segments().count_dropped_anew();
    }
    untidied_ -= std::min(untidied_, covered);
    ++tidyings_;
    tidied_.notify_all();
  }
}

QueuesHealth Depot::health() {
  const auto journal = journal_->health();
  if (!journal) return {journal.error().code != Code::unavailable, journal.error().detail};
  const Lock lock(mutex_);
  return {true, trouble_};
}

Result<void> Depot::tidy() {
  drop_all_overdue();
  if (const auto done = checkpoint(); !done) return done;
  const auto moved = move_stragglers();
  if (!moved) return moved.error();
  return *moved ? checkpoint() : Result<void>{};
}

Result<void> Depot::checkpoint() {
  const std::lock_guard one_at_a_time(checkpoint_mutex_);
  JournalPosition position;
  if (const auto written = write_checkpoint(position); !written) return written;
  return free_segments(position.segment);
}

// Of one moment, though work goes on: see Slots.
Result<void> Depot::write_checkpoint(JournalPosition& position) {
  HoldingsDescription description;
  std::vector<SlotNumber> arrivals;
  Millis unnoted{0};
  {
    const Lock lock(mutex_);
    position = journal_->position();
    description = describe_holdings(holdings_, position, incarnation_);
    for (const Arrival& each : arrivals_) arrivals.push_back(each.slot);
    holdings_.slots().begin_snapshot();
    unnoted = holdings_.clock_set_by() - clock_noted_;
    clock_noted_ += unnoted;  // the checkpoint says so
    appended_ = 0;
    full_ = false;
    holdings_.segments().count_dropped_anew();
  }
  std::size_t next = 0;
  const auto done = journal_->durable(position.sequence - 1);
  Result<std::uint64_t> size = std::uint64_t{0};
  if (done) {
    size = write_checkpoint_file(files_, description, arrivals, [&](Slots::Copy& into) {
      const Lock lock(mutex_);
      return copy_next(holdings_.slots(), next, into);
    });
  }
  const Lock lock(mutex_);
  holdings_.slots().end_snapshot();
  if (!done || !size) clock_noted_ -= unnoted;  // it says nothing: the next call does
  if (!done) return done.error();
  if (!size) return size.error();
  checkpoint_size_ = *size;
  return {};
}

// Below a checkpoint only bodies and states in use are needed.
Result<void> Depot::free_segments(std::uint64_t below) {
  std::vector<std::uint32_t> free;
  const auto appended = [this] {
    const Lock lock(mutex_);
    return journal_->stats().next_sequence;
  };
  for (const auto number : journal_->stats().segment_numbers) {
    if (number >= below) continue;
    const Lock lock(mutex_);
    if (holdings_.segments().records(static_cast<std::uint32_t>(number)) != 0) continue;
    holdings_.segments().forget(static_cast<std::uint32_t>(number));
    free.push_back(static_cast<std::uint32_t>(number));
  }
  // A record that was appended meanwhile may be all that says a segment is not needed.
  if (free.empty()) return {};
  if (const auto durable = journal_->durable(appended() - 1); !durable) return durable.error();
  wait_for_readers();
  for (const auto number : free) {
    if (const auto released = journal_->release(number); !released) return released;
  }
  return {};
}

/// Whoever claimed something before this has read it. One caller at a time.
void Depot::wait_for_readers() {
  std::uint32_t before = 0;
  {
    const Lock lock(mutex_);
    before = std::exchange(reading_phase_, 1 - reading_phase_);
  }
  auto& count = reading_[before];
  for (auto left = count.load(); left != 0; left = count.load()) count.wait(left);
}

/// What is leased too, as soon as its holder's ending needs nothing that is still being read.
bool Depot::can_move(SlotNumber number) {
  const Place place = holdings_.slots()[number].place;
  if (place == Place::free || place == Place::arriving) return false;
  const Lease* lease = holdings_.lease_of(number);
  return lease == nullptr || lease->loaded;
}

// One old message must not pin a whole segment: what is left of nearly empty ones is written again
// at the end of the journal. Answers whether anything moved.
Result<bool> Depot::move_stragglers() {
  const auto stats = journal_->stats();
  std::vector<bool> victims;
  SlotNumber slots = 0;
  {
    const Lock lock(mutex_);
    if (!is_crowded()) return false;
    // Half full ones alone may make up twice of what is alive: then more is worth moving.
    const std::uint64_t enough = holds_more_than(16) ? 7 : 5;  // tenths
    for (std::size_t i = 0; i < stats.segment_numbers.size(); ++i) {
      const auto number = static_cast<std::uint32_t>(stats.segment_numbers[i]);
      const auto use = holdings_.segments().use(number);
      // By what its messages and states weigh: however many small ones there are, a segment that
      // large ones have left is nearly empty.
      const bool full = use.weight() * 10 >= stats.segment_sizes[i] * enough;
      if (number >= stats.active_segment || full) continue;
      victims.resize(std::max<std::size_t>(victims.size(), number + 1));
      victims[number] = use.records > 0;
    }
    slots = holdings_.slots().size();
  }
  if (std::find(victims.begin(), victims.end(), true) == victims.end()) return false;
  bool moved = false;
  for (SlotNumber from = 0; from < slots; from += Slots::block_size) {
    std::vector<Claim> claims;
    {
      const Lock lock(mutex_);
      if (stopping_) return moved;
      for (SlotNumber at = from; at < std::min(slots, from + Slots::block_size); ++at) {
        const Slot& slot = holdings_.slots()[at];
        const bool here = slot.segment() < victims.size() && victims[slot.segment()];
        if ((here || slot.has_state) && can_move(at)) claims.push_back(claim_of(at));
      }
    }
    if (claims.empty()) continue;
    if (const auto done = relocate(claims, victims); !done) return done.error();
    moved = true;
  }
  return moved;
}

/// A message that is to be written again: its body, its state, or both.
struct Depot::Straggler {
  Claim claim;
  std::optional<StateRecord> state;
  Address body_at;
  std::string body;  // empty: only its state moves
  [[nodiscard]] bool moves_body() const noexcept { return !body.empty(); }
};

/// Reads what has to move. What cannot be read is gone meanwhile, or damaged: that stays where fsck
/// finds it.
std::vector<Depot::Straggler> Depot::read_stragglers(const std::vector<Claim>& claims,
                                                     const std::vector<bool>& victims) {
  const auto leaves = [&](std::uint32_t segment) {
    return segment < victims.size() && victims[segment];
  };
  std::vector<Straggler> found;
  std::vector<Address> addresses;
  for (const Claim& each : claims) addresses.push_back(each.at);
  journal_->read(addresses, [&](std::size_t i, const Result<std::string_view>& record) {
    if (!record) return;
    Straggler straggler;
    straggler.claim = claims[i];
    straggler.body_at = claims[i].at;
    if (claims[i].has_state) {
      straggler.state = decode_state(*record);
      if (!straggler.state) return;
      straggler.state->left_segment.reset();  // that was another move
      straggler.body_at = straggler.state->body;
    } else {
      straggler.body = *record;
    }
    const bool body_leaves = leaves(straggler.body_at.location.segment);
    if (body_leaves || leaves(claims[i].at.location.segment)) found.push_back(std::move(straggler));
  });
  std::vector<Address> bodies;
  std::vector<Straggler*> owners;
  for (Straggler& each : found) {
    // The state of one that is leased says by what its body left that it is of a move.
    const bool body_moves = each.claim.leased || leaves(each.body_at.location.segment);
    if (!each.state || !body_moves) continue;
    bodies.push_back(each.body_at);
    owners.push_back(&each);
  }
  journal_->read(bodies, [&](std::size_t i, const Result<std::string_view>& record) {
    if (record) {
      owners[i]->body = *record;
    } else {
      owners[i]->claim.slot = no_slot;
    }
  });
  std::erase_if(found, [](const Straggler& each) { return each.claim.slot == no_slot; });
  return found;
}

/// The record that says a body lies here now; and until when it waits, if it does, for whoever
/// finds nothing else of it.
std::optional<std::string> Depot::relocated(const Straggler& straggler,
                                            std::optional<TimePoint> due) {
  const auto stored = decode_published(straggler.body);
  if (!stored) return std::nullopt;
  PublishTail tail = stored->tail;
  tail.position = tail.position.value_or(straggler.body_at.sequence);
  tail.dedupe.reset();
  tail.due = due.value_or(tail.now);
  tail.slot = straggler.state ? no_slot : straggler.claim.slot;
  std::string bytes(straggler.body.substr(0, stored->meta.size() + stored->payload.size()));
  char tail_bytes[longest_tail];
  bytes.append(tail_bytes, embedded::encode(tail, tail_bytes));
  return bytes;
}

Result<void> Depot::relocate(const std::vector<Claim>& claims, const std::vector<bool>& victims) {
  if (const auto room = journal_->wait_for_room(true); !room) return room;
  std::uint64_t newest = 0;
  for (const Claim& each : claims) newest = std::max(newest, each.at.sequence);
  if (const auto written = journal_->written(newest); !written) return written;
  auto stragglers = read_stragglers(claims, victims);
  constexpr std::size_t at_once = 128;  // so that nobody waits long for the lock
  for (std::size_t from = 0; from < stragglers.size(); from += at_once) {
    const auto count = std::min(at_once, stragglers.size() - from);
    const auto moved = move(std::span(stragglers).subspan(from, count));
    if (!moved) return moved;
  }
  return {};
}

// Bodies first, as one list; then the states that name them.
Result<void> Depot::move(std::span<Straggler> stragglers) {
  const Lock lock(mutex_);
  const auto untidied = untidied_;  // what housekeeping writes is not work for housekeeping
  RecordList bodies;
  std::vector<Straggler*> moving;
  std::vector<Straggler*> stateful;
  for (Straggler& each : stragglers) {
    const auto number = each.claim.slot;
    const auto now_at = holdings_.address_of(number).sequence;
    if (!can_move(number) || now_at != each.claim.at.sequence) continue;  // it moved on by itself
    if (each.state && !each.moves_body() && holdings_.lease_of(number) != nullptr) continue;
    if (each.moves_body()) {
      const bool early = holdings_.waits(number) && holdings_.is_early(number);
      auto record = relocated(each, early ? std::optional(holdings_.due_of(number)) : std::nullopt);
      if (!record) continue;
      bodies.add(RecordType::relocated, std::move(*record));
      moving.push_back(&each);
    }
    if (each.state) stateful.push_back(&each);
  }
  if (!bodies.empty()) {
    const auto placed = append(bodies);
    if (!placed) return placed.error();
    for (std::size_t i = 0; i < moving.size(); ++i) {
      if (moving[i]->state) {
        moving[i]->state->left_segment = moving[i]->state->body.location.segment;
        moving[i]->state->body = placed->at(i);
      } else {
        holdings_.relocate(moving[i]->claim.slot, placed->at(i));
      }
    }
  }
  untidied_ = untidied;
  if (stateful.empty()) return {};
  RecordList states;
  for (Straggler* each : stateful) {
    each->state->due = holdings_.due_of(each->claim.slot);  // by the clock as it is now
    std::string bytes;
    embedded::encode(*each->state, bytes);
    states.add(RecordType::state, std::move(bytes));
  }
  const auto placed = append(states);
  untidied_ = untidied;
  if (!placed) return placed.error();
  for (std::size_t i = 0; i < stateful.size(); ++i) {
    holdings_.set_state(*stateful[i]->state, placed->at(i), holdings_.latest());
  }
  return {};
}

}  // namespace dlo::embedded
