#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlo/core/id.h"
#include "dlo/core/time.h"
#include "dlo/outbox/row.h"
#include "dlo/outbox/shape.h"
#include "dlo/outbox/statements.h"
#include "dlo/postgres/link.h"

namespace dlo::outbox {

/// What is to be read.
struct Wanted {
  std::vector<std::string> except_ids;
  std::vector<std::string> except_keys;
  std::size_t rows = 500;
  std::uint64_t bytes = std::uint64_t{8} << 20U;
  TimePoint now{};
};

/// A row that failed once more.
struct FailedRow {
  std::string id;
  std::string key;
  Failures failures;
};

/// One outbox table at its server, and the share of it that this relay owns: a relay reads the rows
/// of its buckets and no others. Buckets are advisory locks of the very connection that reads: who
/// loses it owns nothing any more. Relays of one table share its buckets evenly, and take over
/// those of one that is gone. Everything throws `postgres::Failed`. Belongs to one thread.
class Table {
 public:
  /// A relay that says nothing for `silence` has lost its share: the server ends its connection, so
  /// one that stands still holds up nobody's rows.
  Table(const std::string& address, Shape shape, std::string outbox,
        std::chrono::milliseconds silence = usual_silence);
  static constexpr std::chrono::milliseconds usual_silence{30'000};
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Connects if need be and looks after the share, about once in `between_shares`.
  void prepare(std::chrono::steady_clock::time_point now);
  static constexpr std::chrono::milliseconds between_shares{1'000};

  /// Throws if what was read may be somebody else's by now: a long time passed without a word.
  void be_sure(std::chrono::steady_clock::time_point now);

  [[nodiscard]] std::vector<Row> read(const Wanted& wanted);
  /// They are sent. Answers which of them the table still has as to be sent: somebody holds them.
  /// `carefully`: for those, which are not waited for.
  [[nodiscard]] std::vector<std::string> mark_done(const std::vector<std::string>& ids,
                                                   bool carefully = false);
  [[nodiscard]] std::vector<std::string> mark_dead(const std::vector<std::string>& ids,
                                                   const std::vector<Id128>& records);
  /// Which of them are still to be sent, whoever owns them.
  [[nodiscard]] std::vector<std::string> left_of(const std::vector<std::string>& ids);
  /// Remembers attempts where the table has columns for it; false: it has none.
  bool mark_failed(std::span<const FailedRow> rows);
  /// Whether attempts are counted in the rows. After `prepare`.
  [[nodiscard]] bool counts() const noexcept { return !statements_.failed.empty(); }

  /// How many buckets are ours.
  [[nodiscard]] std::size_t share() const noexcept { return owned_.size(); }
  /// The statement behind `mark_dead`. After `prepare`.
  [[nodiscard]] const std::string& dead_statement() const noexcept { return statements_.dead; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  /// For people.
  [[nodiscard]] std::string place() const { return shape_.schema + "." + shape_.table; }
  /// The server's name for our connection; zero: there is none.
  [[nodiscard]] int process() noexcept;

 private:
  void greet(postgres::Connection& connection);
  void leave_some(postgres::Connection& connection, std::size_t fair);
  void take_some(postgres::Connection& connection, std::size_t fair);

  const Shape configured_;
  const std::string outbox_;
  Shape shape_;  // as the table has it
  Statements statements_;
  std::int64_t locks_;  // the first of them; members share the one behind the last
  std::vector<std::int64_t> owned_;
  std::chrono::steady_clock::time_point share_again_{};
  std::chrono::steady_clock::time_point sure_until_{};
  postgres::Link link_;  // last: its greeting uses the rest
};

}  // namespace dlo::outbox
