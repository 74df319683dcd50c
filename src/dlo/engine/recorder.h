#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "dlo/engine/clock.h"
#include "dlo/engine/events.h"
#include "dlo/engine/item.h"
#include "dlo/engine/marks.h"
#include "dlo/engine/pace.h"
#include "dlo/engine/procedure.h"
#include "dlo/engine/settler.h"
#include "dlo/engine/stats.h"
#include "dlo/engine/status_board.h"
#include "dlo/engine/writer.h"
#include "dlo/store/office.h"

namespace dlo {

/// Owner effect of one death. What a listener throws is an error like one it returned.
[[nodiscard]] Result<void> tell_owner(DeathListener& listener, const DeadLetter& record,
                                      OwnerEffect effect);
/// The same of many: an answer each.
[[nodiscard]] std::vector<Result<void>> tell_owner(DeathListener& listener,
                                                   std::span<const DeadLetter* const> records,
                                                   OwnerEffect effect);

/// Step 8: record durable, then owner effect, then on to the settler. Gathers what arrives while
/// one batch is being written into the next, and under load for a little longer: a transaction
/// costs nearly the same for one record as for a hundred. An office that fails is asked again with
/// patience and everything stays where it is, at its source, unsettled; one refused record does not
/// keep the others of its batch from being written. Threads  `push` from any thread; `flush` from
/// one.
class Recorder {
 public:
  struct Entry {
    Item* item = nullptr;
    Plan plan;
    bool durable = false;
    bool told = false;     // its owner has heard of it, or need not
    bool put_off = false;  // the office will not have it: back to its source, to be tried later
    bool used = false;     // the office knows for which delivery its record stands
    std::uint32_t occurrence = 0;  // under which the office has it
    Millis patience{0};            // while its owner cannot be told
    TimePoint tell_again{};
  };

  Recorder(Office& office, RecordWriter& writer, Settler& settler, ItemPool& pool, Marks& marks,
           ProcessorCounts& counts, StatusBoard& board, EngineEvents* events,
           DeathListener* listener, OwnerEffect effect, const Clock& clock,
           std::size_t most_in_flight)
      : office_(office),
        writer_(writer),
        settler_(settler),
        pool_(pool),
        marks_(marks),
        counts_(counts),
        board_(board),
        events_(events),
        listener_(listener),
        effect_(effect),
        clock_(clock),
        enough_(enough_of(most_in_flight)),
        pace_(apart(most_in_flight)) {}

  void push(Entry entry);

  /// Writes what is there. False: the office failed and all that is not durable is kept.
  bool flush();
  /// Flushes until `stop()`, and then until nothing is left or `deadline`.
  void run();
  void stop(TimePoint deadline);
  void restart();
  [[nodiscard]] bool idle() const;
  /// Takes the marks off which no record came along to carry.
  void clear_marks();

 private:
  [[nodiscard]] static std::size_t enough_of(std::size_t most_in_flight) noexcept;
  [[nodiscard]] static std::chrono::microseconds apart(std::size_t most_in_flight) noexcept;
  [[nodiscard]] bool enough() const noexcept;
  void wait_for_more(std::unique_lock<std::mutex>& lock);
  void collect();
  bool flush_batch();
  void forget_lost();
  bool name_all();
  [[nodiscard]] ContentClaims* claims_of(const Entry& entry) const;
  [[nodiscard]] bool is_to_be_told(const Entry& entry) const;
  [[nodiscard]] bool is_to_be_used(const Entry& entry) const;
  void stand_for(Entry& entry);
  bool use_up();
  bool write_all(TimePoint now);
  [[nodiscard]] std::size_t marks_to_take(bool last) const;
  bool send(std::span<Entry*> batch, TimePoint now, bool last);
  Result<void> write(std::span<Entry*> batch, TimePoint now, std::size_t most_marks);
  Result<void> write_singly(std::span<Entry*> batch, TimePoint now);
  void put_off(Entry& entry, const Error& error, TimePoint now);
  [[nodiscard]] static std::optional<SourceSettled> mark_of(const Entry& entry);
  void tell_owners(TimePoint now);
  void pass_on();
  [[nodiscard]] std::optional<TimePoint> next_owed() const;

  Office& office_;
  RecordWriter& writer_;
  Settler& settler_;
  ItemPool& pool_;
  Marks& marks_;
  ProcessorCounts& counts_;
  StatusBoard& board_;
  EngineEvents* events_;
  DeathListener* listener_;
  OwnerEffect effect_;
  const Clock& clock_;
  const std::size_t enough_;  // so many are a batch: nobody waits for more

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool busy_ = false;
  bool gathering_ = false;
  bool urgent_ = false;                  // somebody waits behind the key of one that is here
  std::optional<TimePoint> look_again_;  // something is kept: when to try again
  bool held_up_ = false;                 // the office failed: not even new ones before look_again_
  TimePoint deadline_{};
  std::deque<Entry> in_;

  // Of whoever flushes.
  std::vector<Entry> entries_;
  Pace pace_;
  Patience patience_{Millis{100}, Millis{5'000}};
};

}  // namespace dlo
