#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/embedded/delay_wheel.h"
#include "dlo/broker/embedded/key_book.h"
#include "dlo/broker/embedded/leases.h"
#include "dlo/broker/embedded/records.h"
#include "dlo/broker/embedded/segment_uses.h"
#include "dlo/broker/embedded/slots.h"
#include "dlo/broker/lineup.h"
#include "dlo/broker/rate_meter.h"

namespace dlo::embedded {

/// Messages by publication, linked through their slots.
struct Chain {
  SlotNumber oldest = no_slot;
  SlotNumber newest = no_slot;
};

struct QueueState {
  explicit QueueState(const QueueRecord& settings);

  QueueRecord record;
  SourceStats totals;  // what ever happened; the places are counted below
  std::array<std::uint64_t, place_count> places{};
  std::uint64_t dead_bytes = 0;  // of the own dead set: no limit counts them
  Lineup lineup;
  Chain all;   // but for the dead
  Chain dead;  // the queue's own dead set
  KeyBook keys;
  DedupeBook dedupe;
  RateMeter in_rate;
  RateMeter out_rate;

  [[nodiscard]] const SourceOptions& options() const noexcept { return record.options; }
  [[nodiscard]] std::uint64_t& in(Place place) noexcept {
    return places[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] Chain& chain(Place place) noexcept { return place == Place::dead ? dead : all; }
  /// What limits count: everything but the dead.
  [[nodiscard]] std::uint64_t messages() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return totals.bytes - dead_bytes; }
};

using SlotSet = std::unordered_set<SlotNumber>;

/// What the records of a journal amount to: queues, messages, leases. On one thread. The same
/// methods serve work and reading back; while reading back (before `begin_work`) nothing stands in
/// a line, because nobody is handed anything.
class Holdings {
 public:
  // --- queues
  QueueState& declare(const QueueRecord& record);
  [[nodiscard]] QueueState* queue(std::uint16_t number) noexcept;
  [[nodiscard]] QueueState& queue_of(SlotNumber slot) noexcept {
    return *queues_[slots_[slot].queue];
  }
  [[nodiscard]] std::size_t queue_count() const noexcept { return queues_.size(); }

  // --- messages
  [[nodiscard]] SlotNumber take_slot() { return slots_.take(); }
  void untake(SlotNumber slot) noexcept { slots_.give_back(slot); }
  /// A publication was written: its slot is filled, nobody sees it.
  void put(const PublishTail& tail, const Address& at, std::uint32_t weight);
  /// ... and is durable: it takes its place.
  void arrive(SlotNumber slot, std::string_view key, TimePoint now);
  /// Its record lies elsewhere now.
  void relocate(SlotNumber slot, const Address& at);
  /// A state was written at `at`: out of its lease, or wherever it waits, and as the record says.
  void set_state(const StateRecord& record, const Address& at, TimePoint now);
  /// Out of its lease, unchanged.
  void return_unchanged(const Return& record, TimePoint now);
  void remove(const Removal& removal, TimePoint now);

  // --- leases
  /// The next one to be handed out, taken out of its line; `no_slot` if there is none.
  [[nodiscard]] SlotNumber pop_ready(QueueState& queue) { return queue.lineup.pop(slots_); }
  void push_ready(SlotNumber slot, TimePoint now) { wait_or_ready(slot, now); }
  Lease& lease(SlotNumber slot, std::uint64_t number, TimePoint until);
  /// The lease a token stands for, or nullptr.
  [[nodiscard]] Lease* find(SlotNumber slot, std::uint64_t number) noexcept;
  [[nodiscard]] Lease* lease_of(SlotNumber slot) noexcept;
  [[nodiscard]] Leases& leases() noexcept { return leases_; }

  // --- all of a queue
  /// Removes what nobody has leased and has no state; those that have one are listed in `rest`.
  /// `arriving` are not there yet; when a journal is read back they are, and are left alone.
  std::uint64_t purge_fresh(QueueState& queue, const SlotSet& arriving,
                            std::vector<SlotNumber>& rest, TimePoint now);
  void remove_waiting(QueueState& queue, const std::vector<Removal>& removals, TimePoint now);
  void free_key(QueueState& queue, const std::string& key, TimePoint now);
  /// Everything that waits, but for keys whose head is leased or dead; in order of publication,
  /// each with its key.
  struct Moving {
    std::vector<std::pair<SlotNumber, std::string>> messages;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Moving who_moves(QueueState& from, const SlotSet& arriving) const;
  /// They stand behind what is there, ready since `now`.
  void move_all(QueueState& from, QueueState& to, const Moving& moving, const SlotSet& arriving,
                TimePoint now);
  std::uint64_t redrive(QueueState& queue, TimePoint now);

  // --- reading a damaged journal
  /// Out of the dead set, or from behind its key (`key`, which it leaves for good).
  void detach(SlotNumber slot, const std::string& key);

  // --- reading a checkpoint back
  /// A lease whose slot says so already.
  Lease& adopt_lease(SlotNumber slot);
  /// Who was ready or delayed is ready until `begin_work` looks.
  void forget_lines();

  // --- time
  void begin_work(TimePoint now);
  /// Ends delays. Leases that ran out are listed, for their ends have to be written down.
  void advance(TimePoint now, std::vector<Lease*>& ran_out);
  [[nodiscard]] std::optional<TimePoint> next_due() const noexcept;
  [[nodiscard]] TimePoint latest() const noexcept { return latest_; }
  /// Reading back: it was at least this late when a record was written.
  void note_moment(TimePoint at) noexcept { latest_ = std::max(latest_, at); }

  [[nodiscard]] Address address_of(SlotNumber slot) const noexcept;
  [[nodiscard]] const Slots& slots() const noexcept { return slots_; }
  [[nodiscard]] Slots& slots() noexcept { return slots_; }
  [[nodiscard]] SegmentUses& segments() noexcept { return segments_; }

 private:
  void set_record(Slot& slot, const Address& at) noexcept;
  void move_to(SlotNumber slot, Place place) noexcept;
  void wait_or_ready(SlotNumber slot, TimePoint now);
  void end_lease(SlotNumber slot) noexcept;
  void bury(SlotNumber slot, bool holds_key, TimePoint now);
  KeyEntry* leave_key(SlotNumber slot);
  void link(SlotNumber slot) noexcept;
  void unlink(SlotNumber slot) noexcept;
  void drop(SlotNumber slot, std::uint32_t body_segment) noexcept;
  void promote(QueueState& queue, KeyEntry& line, TimePoint now);
  void leave_behind(QueueState& queue, KeyEntry& line, const SlotSet& arriving, TimePoint now);
  template <typename F>
  void keep_followers(KeyEntry& line, F&& stays);
  void join_key(QueueState& queue, SlotNumber slot, std::string_view key, TimePoint now);
  [[nodiscard]] bool may_move(SlotNumber slot, const SlotSet& arriving) const;
  template <typename F>
  void keep_in_lines(QueueState& queue, F&& stays);
  void line_up_all(QueueState& queue, TimePoint now);
  void clock_went_back(Millis jump);

  Slots slots_;
  DelayWheel delays_;
  Leases leases_;
  SegmentUses segments_;
  std::vector<std::unique_ptr<QueueState>> queues_;
  bool working_ = false;
  TimePoint latest_ = TimePoint::min();
};

}  // namespace dlo::embedded
