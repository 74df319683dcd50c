#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/fallback.h"
#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo {

/// A report that the office could not take: what it will be there, and the changes that make it so.
struct Shelved {
  DeadLetterPtr record;
  std::vector<Attempt> attempts;
  std::vector<Change> changes;
};

/// How many reports there ever were of each outcome, over all processes (R2-10).
struct FallbackTotals {
  std::uint64_t in_memory = 0;        // kept here
  std::uint64_t persisted_later = 0;  // ... and written when the office could be written again
  std::uint64_t rejected = 0;         // neither: whoever reported them was told
  bool operator==(const FallbackTotals&) const = default;
};

/// Where reports wait, in memory, for an office that cannot write (S2-2). Bounded; in order; what
/// is in it is written once, because the same id and time of death is the same record to the
/// office. What is left when the process ends in peace goes to the log, a line each; what is here
/// when it dies is lost, and whoever reported it was told so (`durable: false`). Threads  Any
/// method from any thread.
class FallbackShelf {
 public:
  struct Told {
    std::function<void(const std::string&)> log{};  // a line for people
    std::function<void()> work{};                   // there is something to settle
  };
  /// References outlive it.
  FallbackShelf(Office& office, Told told) : office_(office), told_(std::move(told)) {}

  enum class Kept : std::uint8_t { added, merged, no_room };
  /// `open`: how many the office has, as far as is known.
  [[nodiscard]] Kept add(Shelved one, const Capacity& capacity, std::uint64_t open);
  /// One that found no place anywhere.
  void note_rejected();

  /// Writes what is here if the office lets it. Answers what stands in the way of those that come
  /// now: nothing, once the shelf is empty.
  std::optional<Error> settle();
  /// The last try; what is left is named in the log.
  void close();

  [[nodiscard]] std::uint64_t size() const;
  /// True: `settle` has something to do.
  [[nodiscard]] bool has_work() const;
  /// By the id of a record or of a task.
  [[nodiscard]] std::shared_ptr<const Shelved> find(const std::string& name) const;
  /// The oldest of them.
  [[nodiscard]] std::vector<std::shared_ptr<const Shelved>> first(std::size_t most) const;
  [[nodiscard]] std::uint64_t persisted_later() const;  // since the start
  [[nodiscard]] Result<FallbackTotals> totals() const;  // since the office was made

 private:
  using Entry = std::shared_ptr<const Shelved>;
  /// What was counted and is not yet in the office.
  [[nodiscard]] FallbackTotals unwritten() const;
  struct Written {
    FallbackTotals totals{};
    std::uint64_t version = 0;  // of their document
  };
  [[nodiscard]] Result<Written> written() const;
  [[nodiscard]] Result<void> write(const std::vector<Entry>& entries);
  /// The first `count`; only whoever settles takes some off.
  void take_off(std::size_t count, const FallbackTotals& noted, bool kept);
  void say(const Entry& entry, const std::string& what) const;
  [[nodiscard]] Kept put(Shelved one, const Capacity& capacity, std::uint64_t open);

  Office& office_;
  const Told told_;
  std::mutex settling_;
  mutable std::mutex mutex_;  // for what follows
  std::deque<Entry> entries_;
  std::set<std::pair<RecordId, std::uint32_t>> ids_;  // with their occurrences
  std::uint64_t bytes_ = 0;                           // of all of them, roughly
  FallbackTotals unwritten_;
  std::uint64_t persisted_later_ = 0;
  std::optional<Error> met_;
};

}  // namespace dlo
