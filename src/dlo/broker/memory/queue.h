#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/drift.h"
#include "dlo/broker/lineup.h"
#include "dlo/broker/memory/slab.h"
#include "dlo/broker/rate_meter.h"
#include "dlo/broker/source_options.h"
#include "dlo/broker/timing.h"

namespace dlo::memory {

/// What is known of a message that has been here or elsewhere before.
struct Past {
  TimePoint first_attempt_at = Slot::never;
  Millis previous_delay{0};
  std::string last_error;
  std::string trail;
  bool repeat = false;
};

/// A message on its way in, stamped and measured.
struct Arrival {
  MessagePtr message;
  TimePoint due{};
  Counters counters;
  std::uint64_t bytes = 0;
  std::shared_ptr<const Failure> undecodable;
  std::unique_ptr<Past> past;  // null: it is new
  bool past_hold = false;
};

/// The broker's rules on one thread: who is where, who is next, what each ending does.
/// Everything is O(1) per message (keys: one hash on arrival and one when the key runs empty).
/// What is removed is handed to `Gone`, so that the owner destroys it outside its lock.
class Queue {
 public:
  using Gone = std::vector<MessagePtr>;

  explicit Queue(const SourceOptions& options);

  /// Ends the delays and leases that are over at `now`. Called first by every operation.
  void advance(const Instant& now);

  void add(Arrival arrival, TimePoint now);
  void claim(const ReceiveRequest& request, const Instant& now, std::vector<Delivery>& out,
             Gone& gone);
  /// What has expired and is to be dropped goes, wherever it stands.
  void drop_expired(TimePoint now, Gone& gone);
  bool start(const LeaseToken& lease, TimePoint now);
  bool renew(const LeaseToken& lease, const Instant& until);
  SettleAnswer settle(const Settlement& settlement, TimePoint now, Gone& gone);

  std::uint64_t end_all_leases(TimePoint now);
  /// What a lease is of; null if it is over.
  [[nodiscard]] const Slot* leased(const LeaseToken& lease) noexcept;

  void pause(bool paused) noexcept { stats_.paused = paused; }
  std::uint64_t purge(Gone& gone);
  [[nodiscard]] std::vector<MessagePtr> peek(std::size_t limit);
  void free_key(const std::string& key);
  [[nodiscard]] KeyHold hold_on(const std::string& key) const;
  [[nodiscard]] std::vector<std::string> held_keys(std::size_t skip, std::size_t limit) const;

  [[nodiscard]] SourceStats stats();
  [[nodiscard]] std::uint64_t messages() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return stats_.bytes; }
  /// When something may become ready, as of a moment that `advance` was told.
  [[nodiscard]] std::optional<TimePoint> next_due(const Instant& now) const noexcept;
  /// Tells this queue's lease tokens from another's.
  void set_epoch(std::uint32_t epoch) noexcept { epoch_ = epoch; }

 private:
  [[nodiscard]] Slot* find(const LeaseToken& token, SlotNumber& number) noexcept;
  void lease(SlotNumber number, const Instant& until, Delivery& delivery);
  void claim_expired(const ReceiveRequest& request, const Instant& now, std::vector<Delivery>& out,
                     Gone& gone);
  [[nodiscard]] std::vector<SlotNumber> take_expired(TimePoint now, std::size_t limit);
  void stand(SlotNumber number);
  void note_expiry(const Slot& slot) noexcept;
  void clock_was_set(Millis by, TimePoint now);

  static void remember(Slot& slot, const Past& past);
  void move_to(Slot& slot, Place place) noexcept;
  static void wait_until(Slot& slot, TimePoint due) noexcept;
  void wait_or_ready(SlotNumber number, TimePoint now);
  void end_of_wait(SlotNumber number, TimePoint due);
  void take_back(SlotNumber number, TimePoint again_at, TimePoint now);
  void remove(SlotNumber number, TimePoint now, Gone& gone);
  void unlink(SlotNumber number) noexcept;
  static void note(Slot& slot, const std::string& error, const std::string& trail);

  KeyLine& line_of(const std::string& key);
  void promote(KeyLine& line, TimePoint now);

  void end(SlotNumber number, const Completed& ending, TimePoint now, Gone& gone);
  void end(SlotNumber number, const Failed& ending, TimePoint now, Gone& gone);
  void end(SlotNumber number, const Abandoned& ending, TimePoint now, Gone& gone);
  void end(SlotNumber number, const ReleasedUnrun& ending, TimePoint now, Gone& gone);
  void end(SlotNumber number, const DeadLettered& ending, TimePoint now, Gone& gone);

  [[nodiscard]] std::uint64_t& in(Place place) noexcept {
    return places_[static_cast<std::size_t>(place)];
  }

  SourceOptions options_;
  Slab slab_;
  Lineup lineup_;
  TimingWheel delays_;   // by the wall clock
  TimingWheel leasing_;  // by the steady one
  struct Over {
    TimePoint due{};  // by the wall clock
    SlotNumber number = no_slot;
  };
  std::vector<Over> over_;  // what `advance` found
  std::unordered_map<std::string, KeyLine> keys_;
  std::array<std::uint64_t, place_count> places_{};
  SourceStats stats_;
  RateMeter in_rate_;
  RateMeter out_rate_;
  SlotNumber oldest_ = no_slot;
  SlotNumber newest_ = no_slot;
  std::uint64_t leases_ = 0;  // granted ever; the number is half of the token
  std::uint32_t epoch_ = 0;
  TimePoint latest_ = TimePoint::min();  // the clock as last seen, but for small steps back
  TimePoint steady_ = TimePoint::min();  // how late `advance` was told it is, for rates
  Drift drift_;
  TimePoint next_expiry_ = TimePoint::max();  // of those that are ready nobody expires before
};

}  // namespace dlo::memory
