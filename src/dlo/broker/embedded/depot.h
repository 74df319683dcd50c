#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/embedded/embedded_options.h"
#include "dlo/broker/embedded/holdings.h"
#include "dlo/broker/embedded/orderly_mutex.h"
#include "dlo/broker/embedded/records.h"
#include "dlo/journal/file_system.h"
#include "dlo/journal/journal.h"

namespace dlo::embedded {

/// Records on their way into the journal, as one list.
class RecordList {
 public:
  void add(RecordType type, std::string bytes) {
    records_.push_back(
        {static_cast<std::uint8_t>(type), bytes_.emplace_back(std::move(bytes)), {}});
  }
  /// All parts stay the caller's.
  void add(const NewRecord& record) { records_.push_back(record); }
  void reserve(std::size_t count) { records_.reserve(count); }
  [[nodiscard]] std::span<const NewRecord> all() const noexcept { return records_; }
  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
  [[nodiscard]] bool empty() const noexcept { return records_.empty(); }

 private:
  std::deque<std::string> bytes_;  // never move
  std::vector<NewRecord> records_;
};

/// Where a list went.
struct Placed {
  std::uint64_t first = 0;  // sequence of the first record
  std::uint64_t last = 0;
  std::vector<Location> where;
  [[nodiscard]] Address at(std::size_t index) const noexcept {
    return {where[index], first + index};
  }
};

/// A message that was looked at.
struct Peeked {
  MessagePtr message;
  MessageState state;
};

/// All queues of one directory on one journal. What is decided about messages is in Holdings; here
/// is the order of effects: decide under the lock, write into the journal's group, change what is
/// held, free the lock, and only then wait for the disk and answer.
/// Locks   One, `mutex_`, never held while anything syncs. Bodies are read without it: a message
///         moves also while it is leased, but the place where it lay stays until whoever claimed
///         it before has read it. While very many delays or leases end, a slice in every call,
///         callers take turns: nobody waits longer than for one slice of each who came before.
class Depot {
 public:
  /// `owned`: the same files, if nobody else keeps them.
  Depot(FileSystem& files, const EmbeddedOptions& options, std::unique_ptr<FileSystem> owned);
  ~Depot();
  Depot(const Depot&) = delete;
  Depot& operator=(const Depot&) = delete;

  Result<void> open(TimePoint now, RecoveryReport& report);
  Result<void> close();

  /// The number of the queue named `options.source`, made or changed to have these settings.
  Result<std::uint16_t> declare(const SourceOptions& options, bool keeps_dead);
  /// The number of a queue that exists, open for use again if its handle was closed.
  Result<std::uint16_t> find_queue(const std::string& name);
  [[nodiscard]] std::vector<std::string> names();
  [[nodiscard]] const std::string& partition() const noexcept { return partition_; }

  Result<std::vector<PublishAnswer>> publish(std::uint16_t queue,
                                             std::span<const Publication> messages,
                                             const Failure* undecodable, Instant now);
  /// What was written, and what is to be said of it once it is durable.
  struct Published {
    std::vector<PublishAnswer> answers;
    std::uint64_t placed = 0;  // its last record; 0: all of it repeats something
    std::uint64_t awaited = 0;
    TimePoint now{};
  };
  struct SettledSoon {
    std::vector<SettleAnswer> answers;
    std::uint64_t awaited = 0;  // 0: nothing was changed
  };
  // The first halves of `publish` and `settle`, and the second ones, which wait for the disk.
  Result<Published> take_in(std::uint16_t queue, std::span<const Publication> messages,
                            const Failure* undecodable, Instant now);
  Result<std::vector<PublishAnswer>> made_durable(Published published);
  Result<SettledSoon> end(std::uint16_t queue, std::span<const Settlement> settlements,
                          Instant now);
  Result<std::vector<SettleAnswer>> made_durable(SettledSoon settled);
  /// Whether the first halves would wait for nobody now.
  [[nodiscard]] bool places_at_once(std::uint16_t queue);
  /// Waits until what was placed so far is durable, or never will be.
  void flush();
  Result<std::vector<Delivery>> receive(std::uint16_t queue, const ReceiveRequest& request,
                                        Instant now);
  Result<std::vector<bool>> start(std::uint16_t queue, std::span<const LeaseToken> leases,
                                  Instant now);
  Result<std::vector<SettleAnswer>> settle(std::uint16_t queue,
                                           std::span<const Settlement> settlements, Instant now);
  Result<std::vector<bool>> renew(std::uint16_t queue, std::span<const LeaseToken> leases,
                                  Instant now, Millis lease_for);
  Result<SourceStats> stats(std::uint16_t queue, Instant now);
  Result<void> pause(std::uint16_t queue, bool paused);
  Result<std::uint64_t> purge(std::uint16_t queue);
  Result<std::vector<Peeked>> peek(std::uint16_t queue, bool dead, std::size_t limit);
  Result<void> free_key(std::uint16_t queue, const std::string& key);
  Result<std::vector<std::string>> held_keys(std::uint16_t queue, std::size_t skip,
                                             std::size_t limit);
  Result<KeyHold> hold_on(std::uint16_t queue, const std::string& key);
  Result<std::uint64_t> move_all(std::uint16_t from, std::uint16_t to);
  Result<std::uint64_t> redrive(std::uint16_t queue);
  [[nodiscard]] std::uint64_t dead(std::uint16_t queue);
  /// Later calls for this queue answer unavailable; those who wait are woken.
  void close_queue(std::uint16_t queue) noexcept;

  /// Writes down what is held, so that reading back begins here, and frees what nobody needs.
  Result<void> checkpoint();
  /// The same, and moves what is left of nearly empty segments.
  Result<void> tidy();
  [[nodiscard]] JournalStats journal_stats() { return journal_->stats(); }
  [[nodiscard]] QueuesHealth health();

 private:
  using Lock = OrderlyLock;
  struct Doorbell {  // of one queue
    std::condition_variable rung;
    std::uint32_t waiting = 0;
    bool closed = false;
    std::mutex drops;            // held, outside all others, while expired messages are dropped
    std::uint32_t dropping = 0;  // who does so or waits to
  };
  struct Arrival {
    std::uint64_t sequence;
    SlotNumber slot;
  };
  /// Until it is gone somebody reads what he claimed, from where it lay then.
  class Reading {
   public:
    explicit Reading(std::atomic<std::uint32_t>& count) noexcept : count_(count) {}
    ~Reading() {
      if (--count_ == 0) count_.notify_all();
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    std::atomic<std::uint32_t>& count_;  // raised with the claim
  };
  struct Incoming;
  struct Claim;
  struct Loaded;
  struct Ended;

  // opening
  Result<void> read_back(TimePoint now, RecoveryReport& report);
  Result<void> end_leases_of_last_life(TimePoint now);
  Result<void> load_state(Lease& lease);
  Result<void> check_files();
  Result<void> be_born();

  // writing
  Result<Placed> append(const RecordList& records);
  Result<void> wait_for_room(bool essential);
  void notice(const Error& error);
  void admit(std::uint64_t durable, TimePoint now);
  void advance(const Instant& now);
  /// The same; `now` becomes what others have seen already, by which messages stand in line.
  void catch_up(Instant& now);
  void note_clock();
  Result<void> end_leases(const std::vector<Lease*>& leases, const Instant& now);
  /// Leases that ran out stay so if the process dies. For calls that write nothing else.
  Result<void> hand_over_ends(Lock& lock);
  void ring(std::uint16_t queue, std::uint64_t ready) noexcept;
  void ring_all() noexcept;

  // publishing
  static void encode(const QueueRecord& queue, std::span<const Publication> messages,
                     const Failure* undecodable, TimePoint now, std::string& text,
                     std::vector<Incoming>& incoming);
  void find_duplicates(QueueState& queue, std::vector<Incoming>& incoming, TimePoint now) const;
  static Result<void> check_room(QueueState& queue, const std::vector<Incoming>& incoming);
  Result<Placed> place(std::vector<Incoming>& incoming);
  [[nodiscard]] std::vector<PublishAnswer> answers_to(const std::vector<Incoming>& incoming,
                                                      const Placed& placed) const;

  // receiving
  [[nodiscard]] Claim claim_of(SlotNumber number) const;
  [[nodiscard]] std::vector<Claim> first_of(const QueueState& queue, std::size_t count) const;
  std::optional<TimePoint> age_of(const std::vector<Claim>& claims);
  Result<std::vector<Claim>> claim(QueueState& queue, const ReceiveRequest& request, Instant& now,
                                   std::uint64_t& sequence);
  Result<std::vector<Claim>> claim_expired(QueueState& queue, const ReceiveRequest& request,
                                           Instant& now, std::uint64_t& sequence);
  Result<std::vector<Claim>> claim_these(const std::vector<SlotNumber>& slots,
                                         const ReceiveRequest& request, const Instant& now,
                                         std::uint64_t& sequence);
  [[nodiscard]] bool may_drop(const QueueState& queue, TimePoint now) const noexcept;
  Result<void> drop_overdue(std::uint16_t queue, const Instant& now);
  Result<void> drop_all(std::uint16_t queue, const Instant& now);
  void drop_all_overdue();
  Result<std::vector<Claim>> wait_and_claim(QueueState& queue, const ReceiveRequest& request,
                                            Instant& now, std::uint64_t& sequence);
  [[nodiscard]] std::chrono::steady_clock::time_point wait_until(
      const QueueState& queue, Millis longest,
      std::chrono::steady_clock::time_point deadline) const;
  std::vector<Loaded> load(const std::vector<Claim>& claims);
  Result<void> give_back_unread(const std::vector<Claim>& claims, std::vector<Loaded>& loaded,
                                const Instant& now);
  std::vector<Result<std::string>> read_each(std::span<const Address> addresses);
  void load_body(const Result<std::string_view>& record, const Address& at, Loaded& into);
  void fill_leases(const std::vector<Claim>& claims, std::vector<Loaded>& loaded);
  void deliver(const std::string& source, const std::vector<Claim>& claims,
               std::vector<Loaded>& loaded, TimePoint now, std::vector<Delivery>& out);
  Result<void> drop_expired(const std::vector<Claim>& expired, const Instant& instant);

  // settling
  Ended decide(Lease& lease, const Ending& ending, TimePoint now);
  Result<Placed> write(const std::vector<Ended>& ended, const std::vector<Lease*>& completed,
                       TimePoint now);
  void carry_out(const std::vector<Ended>& ended, const Placed& placed, TimePoint now);

  [[nodiscard]] Lease* find(const LeaseToken& token, std::uint16_t queue) noexcept;
  [[nodiscard]] Result<QueueState*> usable(std::uint16_t queue, const char* where);
  [[nodiscard]] Error refuse(const char* where, std::string detail) const;
  [[nodiscard]] Error used_up(const char* where) const;
  Result<void> write_down(Lock& lock, RecordType type, std::string bytes,
                          const std::function<void()>& then);

  // all of a queue
  struct Purge;
  /// Publications of these queues that are written and not yet synced.
  [[nodiscard]] std::vector<SlotNumber> arriving_in(std::uint16_t queue,
                                                    std::optional<std::uint16_t> other = {}) const;
  Result<void> purge_slice(std::uint16_t queue, Purge& purge);
  Result<void> purge_these(QueueState& queue, const std::vector<SlotNumber>& slots, Purge& purge);
  Result<void> made_durable(std::uint64_t record);
  Result<Load> begin_move(std::uint16_t from, std::uint16_t to);
  Result<std::uint64_t> move_rest(std::uint16_t from, std::uint16_t to, std::uint64_t most);
  Result<std::uint64_t> move_slice(std::uint16_t from, std::uint16_t to, std::uint64_t& left,
                                   std::uint64_t& last);
  Result<void> finish_moves();

  // housekeeping
  void housekeep();
  void wait_for_work(Lock& lock, bool again);
  [[nodiscard]] std::uint64_t checkpoint_interval() const noexcept;
  [[nodiscard]] bool checkpoint_due() const noexcept;
  [[nodiscard]] bool much_is_gone() const noexcept;
  void tidy_if_due();
  [[nodiscard]] bool is_crowded();
  [[nodiscard]] bool holds_more_than(std::uint64_t tenths);
  [[nodiscard]] bool housekeeping_keeps_up() const noexcept;
  void wait_for_housekeeping(Lock& lock);
  Result<void> write_checkpoint(JournalPosition& position);
  Result<void> free_segments(std::uint64_t below);
  void wait_for_readers();
  [[nodiscard]] bool can_move(SlotNumber slot);
  Result<bool> move_stragglers();
  Result<void> relocate(const std::vector<Claim>& claims, const std::vector<bool>& victims);
  struct Straggler;
  std::vector<Straggler> read_stragglers(const std::vector<Claim>& claims,
                                         const std::vector<bool>& victims);
  static std::optional<std::string> relocated(const Straggler& straggler,
                                              std::optional<TimePoint> due);
  Result<void> move(std::span<Straggler> stragglers);

  std::unique_ptr<FileSystem> owned_files_;  // outlives the journal, whoever keeps this
  FileSystem& files_;
  const EmbeddedOptions options_;
  std::unique_ptr<Journal> journal_;
  std::string partition_;  // names this incarnation in positions
  std::uint64_t incarnation_ = 0;

  OrderlyMutex mutex_;
  Holdings holdings_;
  std::deque<Arrival> arrivals_;             // written, not yet synced, in order
  std::atomic<std::uint64_t> admitted_ = 0;  // every publication up to this record has arrived
  std::deque<Doorbell> doorbells_;
  std::vector<std::optional<std::pair<std::uint64_t, TimePoint>>> oldest_;  // by queue, cached
  std::chrono::steady_clock::time_point seen_;  // when a caller last said what time it is
  std::uint64_t leases_granted_ = 0;
  std::uint32_t reading_phase_ = 0;                      // of those who claim now
  std::array<std::atomic<std::uint32_t>, 2> reading_{};  // how many read, by phase
  std::uint32_t segment_ = 0;                            // of the last record
  std::atomic<std::uint64_t> newest_ = 0;                // the last record; 0: none yet
  std::uint64_t last_end_ = 0;  // record of what time did last: leases ran out, the clock was set
  std::uint64_t handed_over_ = 0;  // ... as far as whoever waits knows the kernel to have it
  Millis clock_noted_{0};          // by how much, as far as it is written down
  std::uint32_t epoch_ = 0;
  std::uint64_t appended_ = 0;  // bytes since the last checkpoint
  std::uint64_t untidied_ = 0;  // ... since housekeeping last began and ended
  std::uint64_t checkpoint_size_ = 0;
  bool crowded_ = false;  // much of the disk holds what is gone
  bool full_ = false;     // there is no room even for what makes room
  bool closed_ = false;
  std::string unread_;   // why the disk last did not give a message
  std::string untold_;   // ... which housekeeping is to tell
  std::string trouble_;  // why housekeeping last failed; empty: it did not
  enum class Broken : std::uint8_t { no, seen, told };
  Broken broken_ = Broken::no;  // the journal, which takes nothing more

  std::mutex sets_mutex_;  // held while all of a queue is purged, moved or sent back
  std::mutex checkpoint_mutex_;
  std::condition_variable housekeeping_;
  std::condition_variable tidied_;
  std::uint64_t tidyings_ = 0;  // so many are over
  bool stopping_ = false;
  std::thread housekeeper_;
};

}  // namespace dlo::embedded
