#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/marks.h"
#include "dlo/outbox/judge.h"
#include "dlo/outbox/notes.h"
#include "dlo/outbox/resting.h"
#include "dlo/outbox/table.h"
#include "dlo/store/office.h"

namespace dlo {

namespace postgres {
class Escorts;
}

namespace outbox {

/// A message on its way: where to, and what.
struct Post {
  std::string target;
  MessagePtr message;
};
/// What became of each, in order; empty: it is there, durably. An error of the whole call: nothing
/// was sent, and it is nobody's fault. `timed_out`: it may be there.
using Send =
    std::function<Result<std::vector<std::optional<Error>>>(std::span<const Post>, Instant now)>;

}  // namespace outbox

struct RelayOptions {
  std::string name;       // for people, and part of ids
  std::string address;    // of the database; never printed
  outbox::Shape shape{};  // its table
  std::string to;         // a target; may hold {type}, {key} and {destination}
  std::size_t batch = 500;
  std::uint64_t batch_bytes = std::uint64_t{8} << 20U;
  Millis poll{1'000};  // while there is nothing to send
};

enum class RelayState : std::uint8_t {
  starting,
  relaying,       // or would, if something were there
  standby,        // other relays own all there is
  database_down,  // its table cannot be read or written; it goes on by itself
  broker_down,    // nothing is taken there; rows stay where they are, no attempt is counted
  office_down,    // dead letters cannot be kept; their rows stay, others go on
  stopped,
};
[[nodiscard]] std::string_view name_of(RelayState state) noexcept;

struct RelayStatus {
  RelayState state = RelayState::starting;
  std::uint64_t published = 0;  // confirmed, since the start, as are
  std::uint64_t failures = 0;   // attempts that failed
  std::uint64_t dead = 0;       // rows that became dead letters
  std::uint64_t waiting = 0;    // rows that wait for their next attempt, now
  std::uint64_t share = 0;      // buckets that are ours, now
  std::optional<TimePoint> last_at;
  std::string trouble;  // empty: none
};

/// Sends the rows of an outbox table: those of one key one after the other in the order of the
/// table, others side by side; many in flight. A row is marked when its message is confirmed, not
/// before; whatever dies in between, it is sent again under the same id. There is no high-water
/// mark: a row that was committed late is sent when it is seen. What fails waits and is decided by
/// the profile, and its neighbours go on without it. A row that is given up becomes a dead letter
/// of source `outbox_{event_type}` (S1-2, S1-3) and is marked: in one transaction with `together`,
/// else record first, row second, and a crash in between makes no second record. Threads  `start`,
/// `stop` from one; `use` and `status` from any.
class Relay {
 public:
  /// Told when its state changes for the worse or for the better, for the log.
  using Told = std::function<void(const RelayStatus&)>;
  struct Parts {
    Office& office;
    const Clock& clock;
    Origin origin;
    outbox::RulesFor rules;
    outbox::Send send;
    std::shared_ptr<postgres::Escorts> together{};  // of an office in the same database, or null
    Told told{};
  };

  Relay(RelayOptions options, Parts parts);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  void start();
  /// What is under way is finished; what is not confirmed stays to be sent.
  void stop();
  /// From now on these rules decide.
  void use(outbox::RulesFor rules);
  [[nodiscard]] RelayStatus status() const;
  [[nodiscard]] const RelayOptions& options() const noexcept { return options_; }

  enum class After : std::uint8_t { more, idle, trouble };
  /// One round: reads a batch, sends it, marks what was confirmed. Not while it is started.
  After round(const std::stop_token& stop = {});
  /// The server's name for its connection; zero: there is none. As `round`.
  [[nodiscard]] int process() noexcept { return table_.process(); }

 private:
  struct Batch {
    std::vector<outbox::Row> rows;
    std::vector<std::size_t> to_send;
    std::set<std::string> held;  // keys of which nothing more goes out in this batch
  };
  struct Death {
    outbox::Row row;
    outbox::Judgement judgement;
    bool counted = false;  // the row says so
  };
  struct Marked {  // a row whose record is durable
    std::string id;
    SourceSettled record;
    bool unsettled = false;
  };

  void run(const std::stop_token& stop);
  void rest(Millis time, const std::stop_token& stop);
  [[nodiscard]] Millis until_next() const;
  After relay(const std::stop_token& stop);
  [[nodiscard]] outbox::Wanted wanted(TimePoint now) const;
  void sort_out(Batch& batch, TimePoint now);
  void recall(outbox::Row& row) const;
  void carry_out(Batch& batch, const outbox::Row& row, outbox::Judgement judgement);
  bool send_all(Batch& batch, const std::stop_token& stop);
  bool send_wave(Batch& batch, const std::vector<std::size_t>& wave);
  bool send_alone(Batch& batch, const outbox::Row& row);
  void arrived(const outbox::Row& row);
  void failed(Batch& batch, const outbox::Row& row, const Error& error, TimePoint started);

  // Marks: relay_marks.cc.
  void load_notes();
  void flush();
  void mark_done();
  void mark_failed();
  void mark_failed_in_rows();
  void mark_dead();
  void remove_notes();
  void write_deaths();
  void count_deaths();
  [[nodiscard]] Result<void> write(std::span<Death> deaths, bool together);
  [[nodiscard]] Result<std::vector<Applied>> apply_with_rows(const std::vector<Change>& changes,
                                                             const std::vector<std::string>& ids,
                                                             const std::vector<Id128>& records);
  [[nodiscard]] Result<void> write_singly();
  void written(std::span<Death> deaths, bool together);
  void office_trouble(const Error& error);
  [[nodiscard]] bool apply(std::vector<Change> changes);

  void became(RelayState state, std::string trouble);

  const RelayOptions options_;
  Office& office_;
  const Clock& clock_;
  const outbox::Send send_;
  const std::shared_ptr<postgres::Escorts> together_;
  const Told told_;
  outbox::Table table_;
  outbox::Judge judge_;
  outbox::Notes notes_;
  outbox::Resting resting_;
  Marks marks_;

  // What is owed, kept until it is done; rows of these are not read.
  std::vector<std::string> done_;
  std::vector<std::string> stuck_;  // done, but somebody has locked them
  std::vector<outbox::FailedRow> unwritten_;
  std::vector<Death> deaths_;
  std::vector<Marked> marked_;
  std::set<std::string> noted_;  // rows of which the office has a note
  std::vector<std::string> done_notes_;
  std::size_t notes_share_ = 0;
  std::optional<Error> broker_trouble_;
  std::string office_trouble_;

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  RelayStatus status_;
  std::optional<outbox::RulesFor> rules_;  // to be taken over by the next round
  std::jthread thread_;
};

}  // namespace dlo
