#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/drift.h"
#include "dlo/broker/embedded/delays.h"
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
  std::unique_ptr<Delays> delays;  // none while nothing is delayed
  // All of it is being purged or moved, bit by bit: nobody stands in its lines meanwhile.
  bool unlined = false;
  std::optional<std::uint16_t> moving_to;  // ... and in which queue the rest belongs
  Load promised;                           // room for what is being moved here
  Chain all;                               // but for the dead
  Chain dead;                              // the queue's own dead set
  KeyBook keys;
  DedupeBook dedupe;
  RateMeter in_rate;
  RateMeter out_rate;
  // Of those that stand in its lines nobody expires before.
  Expiry next_expiry = never_expires;
  bool sweeping = false;                     // somebody is looking for those that have
  TimePoint sweep_again = TimePoint::min();  // not before: that takes a look at everybody

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
  /// Deaths that hold no key any more hold none of those before either: nobody would free them.
  QueueState& declare(const QueueRecord& record);
  [[nodiscard]] QueueState* queue(std::uint16_t number) noexcept;
  [[nodiscard]] QueueState& queue_of(SlotNumber slot) noexcept {
    return *queues_[slots_[slot].queue];
  }
  [[nodiscard]] std::size_t queue_count() const noexcept { return queues_.size(); }

  // --- messages
  [[nodiscard]] SlotNumber take_slot(bool keyed) { return slots_.take(keyed); }
  void untake(SlotNumber slot) noexcept { slots_.give_back(slot); }
  /// A publication was written: its slot is filled, nobody sees it.
  void put(const PublishTail& tail, const Address& at, std::uint32_t weight, KeyDigest key,
           Expiry expiry = never_expires);
  /// ... and is durable: it takes its place.
  void arrive(SlotNumber slot, TimePoint now);
  /// Reading back: what was written then had not yet arrived when something was done to all of a
  /// queue. It leaves as the last that came.
  void depart(SlotNumber slot);
  /// Its record lies elsewhere now.
  void relocate(SlotNumber slot, const Address& at);
  /// A state was written at `at`: out of its lease, or wherever it waits, and as the record says.
  /// One that names the segment its body left is of a move, which ends no lease.
  void set_state(const StateRecord& record, const Address& at, TimePoint now);
  /// Out of its lease, unchanged.
  void return_unchanged(const Return& record, TimePoint now);
  void remove(const Removal& removal, TimePoint now);

  // --- leases
  /// The next one to be handed out, taken out of its line; `no_slot` if there is none.
  [[nodiscard]] SlotNumber pop_ready(QueueState& queue) { return queue.lineup.pop(slots_); }
  void push_ready(SlotNumber slot, TimePoint now) { wait_or_ready(slot, now); }
  /// Whether `take_expired` may find somebody. Costs nothing; looking does, so that is done so
  /// seldom that it takes a small part of the time.
  [[nodiscard]] bool may_hold_expired(const QueueState& queue, TimePoint now) const noexcept {
    const bool due = queue.sweeping || queue.next_expiry <= expired_until(now);
    return due && !queue.unlined && now >= queue.sweep_again;
  }
  /// Somebody is in need of room: no pause before the next look, if one would find somebody. Once
  /// everybody was looked at, the next to expire is known: so that is not more than once a second.
  void look_at_once(QueueState& queue, TimePoint now) const noexcept {
    if (queue.next_expiry <= expired_until(now)) queue.sweep_again = TimePoint::min();
  }
  /// Up to `limit` of those who are ready and have expired, taken out of their lines wherever they
  /// stand. Looks at some thousands: if `may_hold_expired` then still says so, call it again.
  [[nodiscard]] std::vector<SlotNumber> take_expired(QueueState& queue, TimePoint now,
                                                     std::size_t limit);
  /// `until`: by the steady clock.
  Lease& lease(SlotNumber slot, std::uint64_t number, TimePoint until);
  /// The lease a token stands for, or nullptr.
  [[nodiscard]] Lease* find(SlotNumber slot, std::uint64_t number) noexcept;
  [[nodiscard]] Lease* lease_of(SlotNumber slot) noexcept;
  [[nodiscard]] Leases& leases() noexcept { return leases_; }

  // --- all of a queue, a piece at a time, so that nobody waits long
  /// From now on nobody stands in a line of this queue, so that anybody can leave it.
  void unline(QueueState& queue);
  void line_up(QueueState& queue, TimePoint now);
  /// The next messages of a queue by publication, beginning with the oldest after `begin_walk`: at
  /// most `limit`. Whoever leaves in between is passed over. One walk at a time.
  void begin_walk(const QueueState& queue) noexcept { walk_ = queue.all.oldest; }
  [[nodiscard]] std::vector<SlotNumber> next_of_walk(std::size_t limit) const;
  void walked_past(SlotNumber last) noexcept { walk_ = slots_[last].newer; }
  /// Everybody of a queue from `first` to `last`, by publication. Empty if they are not there.
  [[nodiscard]] std::vector<SlotNumber> between(const QueueState& queue, SlotNumber first,
                                                SlotNumber last) const;
  /// Nobody has leased it, and it is not dead.
  [[nodiscard]] bool waits(SlotNumber slot) const noexcept {
    const auto place = slots_[slot].place;
    return place == Place::ready || place == Place::delayed || place == Place::held;
  }
  /// Removes those who wait and have no state.
  std::uint64_t purge_fresh(const std::vector<SlotNumber>& slots, TimePoint now);
  void free_key(QueueState& queue, KeyDigest key, TimePoint now);
  /// Those who wait, but for keys whose head is leased or dead, stand behind what is in `to`, ready
  /// since `now`.
  std::uint64_t move(const std::vector<SlotNumber>& slots, QueueState& to, TimePoint now);
  /// The dead up to `last`, which becomes the newest that is ready.
  std::uint64_t redrive(QueueState& queue, SlotNumber last, TimePoint now);
  /// What leases of this queue weigh.
  [[nodiscard]] std::uint64_t leased_bytes(const QueueState& queue) noexcept;

  // --- reading a damaged journal
  /// Out of the dead set, or from behind its key, which it leaves for good.
  void detach(SlotNumber slot);

  // --- reading a checkpoint back
  /// A lease whose slot says so already.
  Lease& adopt_lease(SlotNumber slot);

  // --- time
  void begin_work(TimePoint now);
  /// Somebody set the wall clock: what waits does not notice.
  void clock_was_set(Millis by) noexcept;
  /// ... by so much altogether, in this life of the queues and those before.
  [[nodiscard]] Millis clock_set_by() const noexcept { return set_by_; }
  /// Ends delays. Leases that ran out are listed, for their ends have to be written down. A caller
  /// may be late, and others have called since it read the clock: it is as late as they said.
  /// Of very many that are due at once some are left for the next call.
  void advance(const Instant& now, std::vector<Lease*>& ran_out);
  /// Some were left: every call ends a slice of them.
  [[nodiscard]] bool is_behind() const noexcept { return next_delay_ <= latest_ || leases_behind_; }
  /// A lease that ran out and is one of those that were left: nobody's any more.
  [[nodiscard]] bool is_over(const Lease& lease) const noexcept {
    const auto due = leases_behind_ ? leases_.timing().deadline(lease.index) : std::nullopt;
    return due && *due <= latest_steady_;
  }
  /// When something may become ready in this queue.
  [[nodiscard]] std::optional<TimePoint> next_due(const QueueState& queue) const noexcept;
  [[nodiscard]] TimePoint latest() const noexcept { return wall(latest_); }
  [[nodiscard]] Instant latest_instant() const noexcept { return {latest(), latest_steady_}; }
  /// When it is or was due, by the clock as it is set now; of a dead one, when it died.
  [[nodiscard]] TimePoint due_of(SlotNumber slot) const noexcept {
    return slots_[slot].place == Place::leased ? latest() : wall(slots_[slot].time());
  }
  /// It waits, and will have to for a while.
  [[nodiscard]] bool is_early(SlotNumber slot) const noexcept {
    return slots_[slot].time() > latest_;
  }
  /// Reading back: it was at least this late when a record was written.
  /// The position under which `id` was accepted within the window, which is time that passes.
  [[nodiscard]] std::optional<std::uint64_t> accepted_as(const QueueState& queue,
                                                         const IdDigest& id, TimePoint now,
                                                         DedupeBook::Whose whose) const noexcept;
  void note_moment(TimePoint at) noexcept { latest_ = std::max(latest_, even(at)); }

  [[nodiscard]] Address address_of(SlotNumber slot) const noexcept;
  [[nodiscard]] const Slots& slots() const noexcept { return slots_; }
  [[nodiscard]] Slots& slots() noexcept { return slots_; }
  [[nodiscard]] SegmentUses& segments() noexcept { return segments_; }
  [[nodiscard]] const SegmentUses& segments() const noexcept { return segments_; }

 private:
  void free_all_keys(QueueState& queue);
  void set_record(Slot& slot, const Address& at) noexcept;
  void move_to(SlotNumber slot, Place place) noexcept;
  void wait_or_ready(SlotNumber slot, TimePoint now);
  void end_lease(SlotNumber slot) noexcept;
  void bury(SlotNumber slot, bool holds_key, TimePoint now);
  void link(SlotNumber slot) noexcept;
  void unlink(SlotNumber slot) noexcept;
  void drop(SlotNumber slot, std::uint32_t body_segment) noexcept;
  void begin_turn(SlotNumber head, TimePoint now);
  struct Strays {  // by when they became ready
    std::vector<SlotNumber> ahead;
    std::vector<SlotNumber> others;
  };
  Strays find_strays(QueueState& queue, TimePoint now);
  void delay(SlotNumber slot, TimePoint now);
  void end_delays(std::uint64_t moment);
  void stand(QueueState& queue, SlotNumber slot);
  void stand_ahead(QueueState& queue, SlotNumber slot);
  void note_expiry(QueueState& queue, SlotNumber slot) noexcept {
    if (slots_[slot].can_expire) [[unlikely]]
      queue.next_expiry = std::min(queue.next_expiry, slots_.expiry(slot));
  }
  void clock_went_back(std::uint64_t jump);
  void end_delays_of_expired(TimePoint now);
  /// Slots know moments of an even clock: the wall clock, had nobody ever set it. So a delay is
  /// time that passes, and a jump of the clock costs nothing, however many wait.
  [[nodiscard]] std::uint64_t even(TimePoint at) const noexcept;
  [[nodiscard]] TimePoint wall(std::uint64_t at) const noexcept;
  /// ... for a caller that read the clock before somebody set it.
  [[nodiscard]] std::uint64_t by_now(TimePoint now) const noexcept {
    return std::min(even(now), latest_);
  }

  // Callers that read one clock disagree by a little; only more than this is a jump.
  static constexpr std::uint64_t slack = 1000;
  // Whoever waited for a lock or for room says what time it was before: both clocks are behind by
  // as much. No clock went back then; virtual time may, and by more.
  static constexpr Millis latest_caller{60'000};

  Slots slots_;
  Leases leases_;
  SegmentUses segments_;
  std::vector<std::unique_ptr<QueueState>> queues_;
  bool working_ = false;
  Millis set_by_{0};          // wall clock - even clock
  std::uint64_t latest_ = 0;  // by the even clock; 0: nobody said yet
  TimePoint latest_steady_ = TimePoint::min();
  bool heard_ = false;  // a caller has said what the steady clock shows
  Drift drift_;
  std::uint64_t next_delay_ = end_of_time;  // no delay ends before
  bool leases_behind_ = false;              // some ran out and were left
  SlotNumber walk_ = no_slot;
  // The clock was set forward: from here on nobody looked yet whom that let expire.
  SlotNumber unlooked_ = no_slot;
  bool cut_short_ = false;  // some delays were, and still stand where they would have ended
};

}  // namespace dlo::embedded
