#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/acts.h"
#include "dlo/core/dead_letter.h"
#include "dlo/core/result.h"
#include "dlo/engine/clock.h"
#include "dlo/store/office.h"

namespace dlo {

/// What came of a retry that was asked for.
struct Retried {
  RetryOutcome outcome = RetryOutcome::awaited;
  std::string error{};  // of one that failed
  [[nodiscard]] bool success() const noexcept { return outcome == RetryOutcome::worked; }
};

/// The calls of document 002 upon tasks that were handed over, by their task ids (S2-19..23). Where
/// several dead letters have one task id, the newest is meant. Every act is in the audit trail.
/// Threads  Any method from any thread.
class TaskBook {
 public:
  /// References outlive it. `by`: who acts, for the audit trail.
  TaskBook(Office& office, const Clock& clock, std::string by = "library")
      : office_(office), clock_(clock), by_(std::move(by)) {}

  /// Nothing if there is none (S2-20).
  [[nodiscard]] Result<std::optional<DeadLetter>> find(const std::string& task_id);
  /// Newest first; without a status all that are open (S2-19).
  [[nodiscard]] Result<std::vector<DeadLetter>> list(std::optional<Status> status = std::nullopt,
                                                     std::size_t limit = 100);
  /// Due at once: whoever runs retries does it, the count goes on and the limit is the same. What
  /// came of it is in the record. Not_found, or conflict for one that is not pending or exhausted.
  [[nodiscard]] Result<void> retry(const std::string& task_id);
  /// The same, and what came of it (S2-21): as soon as that run is over, or how far it is after
  /// `wait`.
  [[nodiscard]] Result<Retried> retry_and_wait(const std::string& task_id, Millis wait);
  /// It no longer counts, and can be restored.
  [[nodiscard]] Result<void> archive(const std::string& task_id);  // S2-22
  /// Removes every open dead letter for good, whoever reported it; archived ones stay. Answers how
  /// many those were. Conflict, with nothing removed, unless `expected` are open (S2-23).
  [[nodiscard]] Result<std::uint64_t> clear(std::uint64_t expected);

 private:
  [[nodiscard]] Result<DeadLetter> known(const std::string& task_id);
  [[nodiscard]] Result<DeadLetter> begin_retry(const std::string& task_id);
  [[nodiscard]] Result<void> carry_out(const DeadLetter& record, Transition move, const char* act,
                                       std::vector<Change> also);
  [[nodiscard]] Result<std::uint64_t> remove(const std::vector<RecordHead>& rows);

  Office& office_;
  const Clock& clock_;
  const std::string by_;
};

/// The newest record of a task, live messages included; empty: there is none. `source` empty: of
/// any.
[[nodiscard]] Result<std::optional<RecordHead>> newest_of(Office& office, const std::string& source,
                                                          const std::string& task_id);

}  // namespace dlo
