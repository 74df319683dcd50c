// Checkpoints, segments that nobody needs, stragglers.
#include <algorithm>

#include "dlo/broker/embedded/checkpoint.h"
#include "dlo/broker/embedded/claim.h"
#include "dlo/broker/embedded/depot.h"
#include "dlo/journal/crc32c.h"

namespace dlo::embedded {
namespace {

constexpr std::uint64_t checkpoint_share =
    8;                                       // a checkpoint is at most this part of what is written
constexpr std::uint64_t slack_segments = 4;  // not worth moving anything for

}  // namespace

bool Depot::checkpoint_due() const noexcept {
  return appended_ >= std::max(options_.checkpoint_every, checkpoint_share * checkpoint_size_);
}

void Depot::housekeep() {
  Lock lock(mutex_);
  while (!stopping_) {
    housekeeping_.wait(lock, [this] { return stopping_ || checkpoint_due(); });
    if (stopping_) return;
    lock.unlock();
    // A failure is the journal's, and told to everybody who writes; here it only ends the work.
    const auto done = tidy();
    lock.lock();
    if (!done) appended_ = 0;
  }
}

Result<void> Depot::tidy() {
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
  std::string description;
  std::vector<ArrivalNote> arrivals;
  std::size_t blocks = 0;
  {
    const Lock lock(mutex_);
    position = journal_->position();
    description = describe_holdings(holdings_, position, incarnation_);
    for (const Arrival& each : arrivals_) arrivals.push_back({each.slot, each.key});
    holdings_.slots().begin_snapshot();
    blocks = holdings_.slots().snapshot_blocks();
    appended_ = 0;
  }
  std::size_t next = 0;
  auto done = journal_->durable(position.sequence - 1);
  Result<std::uint64_t> size = std::uint64_t{0};
  if (done) {
    size = write_checkpoint_file(files_, description, arrivals, [&](Slot* into) {
      if (next == blocks) return false;
      const Lock lock(mutex_);
      holdings_.slots().copy_block(next++, into);
      return true;
    });
  }
  const Lock lock(mutex_);
  holdings_.slots().end_snapshot();
  if (!done) return done;
  if (!size) return size.error();
  checkpoint_size_ = *size;
  return {};
}

// Below a checkpoint only bodies and states in use are needed.
Result<void> Depot::free_segments(std::uint64_t below) {
  std::vector<std::uint32_t> free;
  for (const auto number : journal_->stats().segment_numbers) {
    if (number >= below) continue;
    const Lock lock(mutex_);
    if (holdings_.segments().records(static_cast<std::uint32_t>(number)) != 0) continue;
    holdings_.segments().forget(static_cast<std::uint32_t>(number));
    free.push_back(static_cast<std::uint32_t>(number));
  }
  for (const auto number : free) {
    if (const auto released = journal_->release(number); !released) return released;
  }
  return {};
}

// One old message must not pin a whole segment: what is left of nearly empty ones is written again
// at the end of the journal. Answers whether anything moved.
Result<bool> Depot::move_stragglers() {
  const auto stats = journal_->stats();
  std::vector<bool> victims;
  SlotNumber slots = 0;
  {
    const Lock lock(mutex_);
    std::uint64_t live = 0;
    const auto uses = holdings_.segments().all();
    for (const auto& [number, use] : uses) live += use.bytes;
    const auto segment_size = options_.journal.segment_size;
    if (stats.live_bytes <= 2 * live + slack_segments * segment_size) return false;
    for (const auto& [number, use] : uses) {
      if (number >= stats.active_segment || use.bytes * 2 >= segment_size) continue;
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
        const bool waits = slot.place != Place::free && slot.place != Place::leased &&
                           slot.place != Place::arriving;
        const bool here = slot.segment() < victims.size() && victims[slot.segment()];
        if (waits && (here || slot.has_state)) claims.push_back(claim_of(at));
      }
    }
    if (claims.empty()) continue;
    if (const auto done = relocate(claims, victims); !done) return done.error();
    moved = true;
  }
  return moved;
}

Result<void> Depot::relocate(const std::vector<Claim>& claims, const std::vector<bool>& victims) {
  const auto leaves = [&](std::uint32_t segment) {
    return segment < victims.size() && victims[segment];
  };
  if (const auto room = journal_->wait_for_room(true); !room) return room;
  std::vector<Address> addresses;
  std::uint64_t newest = 0;
  for (const Claim& each : claims) {
    addresses.push_back(each.at);
    newest = std::max(newest, each.at.sequence);
  }
  if (const auto written = journal_->written(newest); !written) return written;
  const auto records = read_each(addresses);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (!records[i]) continue;  // gone meanwhile, or damaged: then it stays where fsck finds it
    auto state = claims[i].has_state ? decode_state(*records[i]) : std::nullopt;
    std::string body = *records[i];
    Address body_at = claims[i].at;
    const bool moves_body = !state || leaves(state->body.location.segment);
    if (state && moves_body) {
      body_at = state->body;
      auto found = std::move(read_each({&body_at, 1}).front());
      if (!found) continue;
      body = std::move(*found);
    }
    if (state && !moves_body && !leaves(claims[i].at.location.segment)) continue;
    if (const auto done = relocate_one(claims[i], body, body_at, state, moves_body); !done) {
      return done;
    }
  }
  return {};
}

Result<void> Depot::relocate_one(const Claim& claim, const std::string& body,
                                 const Address& body_at, std::optional<StateRecord>& state,
                                 bool moves_body) {
  auto stored = decode_published(body);
  if (moves_body && !stored) return {};
  const Lock lock(mutex_);
  const Slot& slot = holdings_.slots()[claim.slot];
  const bool waits =
      slot.place != Place::free && slot.place != Place::leased && slot.place != Place::arriving;
  if (!waits || holdings_.address_of(claim.slot).sequence != claim.at.sequence) return {};
  if (moves_body) {
    PublishTail tail = stored->tail;
    tail.position = tail.position.value_or(body_at.sequence);
    tail.dedupe.reset();
    tail.due = tail.now;
    tail.slot = state ? no_slot : claim.slot;
    std::string bytes(body.substr(0, stored->meta.size() + stored->payload.size()));
    char tail_bytes[longest_tail];
    bytes.append(tail_bytes, embedded::encode(tail, tail_bytes));
    RecordList records;
    records.add(RecordType::relocated, std::move(bytes));
    const auto placed = append(records);
    if (!placed) return placed.error();
    if (!state) {
      holdings_.relocate(claim.slot, placed->at(0));
      return {};
    }
    state->left_segment = state->body.location.segment;
    state->body = placed->at(0);
  } else {
    state->left_segment.reset();
  }
  std::string bytes;
  embedded::encode(*state, bytes);
  RecordList records;
  records.add(RecordType::state, std::move(bytes));
  const auto placed = append(records);
  if (!placed) return placed.error();
  holdings_.set_state(*state, placed->at(0), holdings_.latest());
  return {};
}

}  // namespace dlo::embedded
