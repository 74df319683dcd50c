#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/broker/embedded/dedupe_book.h"
#include "dlo/broker/embedded/slots.h"
#include "dlo/broker/source_options.h"
#include "dlo/core/counters.h"
#include "dlo/core/failure.h"
#include "dlo/core/message.h"
#include "dlo/core/time.h"
#include "dlo/journal/journal.h"

namespace dlo::embedded {

/// What the journal of queues is made of. FORMAT.md beside this file describes the bytes.
enum class RecordType : std::uint8_t {
  born = 1,        // the first one: names this journal's incarnation
  queue = 2,       // a queue and its settings
  published = 3,   // a message
  relocated = 4,   // the same message, further on, so that its old segment can go
  state = 5,       // what later became of a message: counts, error, when it is due
  claimed = 6,     // leased
  started = 7,     // the start mark
  completed = 8,   // gone; slots only
  removed = 9,     // gone for another reason, or had a state
  returned = 10,   // a lease ended and changed nothing
  purged = 11,     // all of a queue that nobody has leased
  key_freed = 12,  // ends the hold on a key
  paused = 13,     // or resumed
  moved = 14,      // all that waits in one queue goes to another
  redriven = 15,   // the dead set of a queue is ready again
  clock_set = 16,  // somebody set the wall clock while delays went on
};

/// What is known of a message besides its body. A fresh one has none of it.
struct MessageState {
  Counters counters;
  std::optional<TimePoint> first_attempt_at;
  Millis previous_delay{0};
  bool interrupted = false;  // it was running when its process died or its lease ran out
  std::uint32_t interruptions = 0;
  std::string last_error;
  std::string trail;
  std::shared_ptr<const Failure> undecodable;
  /// Sent back from the dead set: counts as after a replay, and nothing of its earlier attempts but
  /// their error.
  void begin_anew() noexcept;
  /// Of everything in it that has no bounds.
  [[nodiscard]] std::size_t text_size() const noexcept;
  /// Nothing worth a record.
  [[nodiscard]] bool is_fresh() const noexcept;
  /// ... but for counts.
  [[nodiscard]] bool is_fresh_but_claimed() const noexcept {
    return !first_attempt_at && previous_delay == Millis{0} && interruptions == 0 && !interrupted &&
           last_error.empty() && trail.empty() && !undecodable;
  }
};

/// Behind a message's bytes: where it goes. Read from the end, so that a body can be checksummed
/// before its slot is known.
struct PublishTail {
  SlotNumber slot = no_slot;
  std::uint16_t queue = 0;
  Priority priority = Priority::normal;
  bool can_expire = false;
  bool keyed = false;
  bool carries = false;         // counts or a failure came with it: see carried_state
  std::uint32_t meta_size = 0;  // of the fields before the payload
  TimePoint now{};
  TimePoint due{};                        // equal to `now`: no delay
  std::optional<IdDigest> dedupe;         // if the queue remembers it
  std::optional<std::uint64_t> position;  // relocated: its first record's sequence
};
inline constexpr std::size_t longest_tail = 42;
/// Into `out`, which has room for the longest; answers how long it is.
std::size_t encode(const PublishTail& tail, char* out) noexcept;

/// A message as it lies in the journal, views into the record.
struct StoredMessage {
  std::string_view meta;
  std::string_view payload;
  PublishTail tail;
};
[[nodiscard]] std::optional<StoredMessage> decode_published(std::string_view record);

/// Their length has three bytes in the tail.
inline constexpr std::uint32_t max_meta_size = 0xFF'FFFF;

/// What a publication is made of, besides its tail.
struct NewMessage {
  const Message& message;
  TimePoint now;              // when it is enqueued, unless it says so itself
  std::optional<Millis> ttl;  // for one without its own expires_at
  bool keep_source = false;   // the queue has no name to stamp on it
  Counters counters;          // carried over from an earlier life
  const Failure* undecodable = nullptr;
};
/// Appends the fields; the payload goes behind them as it is.
void encode_fields(const NewMessage& what, std::string& out);
/// The message without source and position; empty if the bytes are none.
[[nodiscard]] std::shared_ptr<Message> decode_message(const StoredMessage& stored);
/// The counts and the failure it was published with.
[[nodiscard]] MessageState carried_state(const StoredMessage& stored);
/// Only the key.
[[nodiscard]] std::string_view key_of(const StoredMessage& stored) noexcept;
[[nodiscard]] Expiry expiry_of(const StoredMessage& stored);

void write_counters(const Counters& counters, ByteWriter& to);
[[nodiscard]] Counters read_counters(ByteReader& from);
void write_failure(const Failure& failure, ByteWriter& to);
[[nodiscard]] std::shared_ptr<const Failure> read_failure(ByteReader& from);

struct StateRecord {
  SlotNumber slot = no_slot;
  TimePoint due{};  // since when it is ready, or when its delay ends
  bool repeat = false;
  bool ahead = false;  // comes before everything that was not interrupted
  bool dead = false;
  bool holds_key = false;  // ... and keeps followers of its key back
  Address body;
  std::optional<std::uint32_t> left_segment;  // where the body was, if it has been relocated
  MessageState state;
};
void encode(const StateRecord& record, std::string& out);
[[nodiscard]] std::optional<StateRecord> decode_state(std::string_view record);

enum class Why : std::uint8_t { completed, dead_lettered, dead_and_held, expired, purged };
struct Removal {
  SlotNumber slot = no_slot;
  Why why = Why::completed;
  std::uint32_t body_segment = 0;  // only if it had a state: the record it has names the state
};
/// What they leave behind counts as ready since `now`.
void encode(const std::vector<Removal>& removals, TimePoint now, std::string& out);
struct Removals {
  TimePoint now{};
  std::vector<Removal> all;
};
[[nodiscard]] std::optional<Removals> decode_removals(std::string_view record);

struct Return {
  SlotNumber slot = no_slot;
  bool repeat = false;
  TimePoint due{};
};
void encode(const std::vector<Return>& returns, std::string& out);
[[nodiscard]] std::optional<std::vector<Return>> decode_returns(std::string_view record);

/// `claimed`: the slots. `started`, `completed`: when, then the slots.
void encode_slots(const std::vector<SlotNumber>& slots, std::string& out);
[[nodiscard]] std::vector<SlotNumber> decode_slots(ByteReader& in);

/// By how much somebody set the clock, as `clock_set` and checkpoints have it. Empty: no clock
/// shows moments so far away.
[[nodiscard]] std::optional<Millis> read_clock_set(ByteReader& in) noexcept;

/// A queue and its settings.
struct QueueRecord {
  std::uint16_t number = 0;
  bool keeps_dead = false;
  SourceOptions options;
};
void encode(const QueueRecord& record, std::string& out);
[[nodiscard]] std::optional<QueueRecord> decode_queue(std::string_view record);

}  // namespace dlo::embedded
