#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/dead_letter.h"
#include "dlo/engine/handler_table.h"
#include "dlo/store/change.h"

namespace dlo {

/// A target that runs what it is sent and answers how that ended, unlike a queue, which only takes
/// it: an HTTP endpoint, a command or a function, as `executors` names them.
struct ReplayTarget {
  std::shared_ptr<const HandlerTable> table;  // that holds `entry`
  HandlerEntry* entry = nullptr;
  Millis timeout{0};  // of one message, unless the entry has its own; zero: no limit
};

/// `exec:NAME` is the executor NAME; every other target is a queue.
inline constexpr std::string_view executor_prefix = "exec:";
[[nodiscard]] bool is_executor(std::string_view target) noexcept;

/// Not_found, with those there are, if `target` names nobody of the table.
[[nodiscard]] Result<ReplayTarget> find_executor(const std::shared_ptr<const HandlerTable>& table,
                                                 std::string_view target, Millis timeout);

/// How a message ended at an executor.
struct ReplayRun {
  Outcome outcome;
  /// It counts for nothing and is to be run then: the circuit is open, nobody took it, or we stop.
  std::optional<TimePoint> not_before{};
};
[[nodiscard]] ReplayRun run_at(const ReplayTarget& target, const Publication& message,
                               const RecordId& id, const std::stop_token& stop, TimePoint now);

/// A dead letter that ran, and where.
struct Ran {
  const DeadLetter& record;  // `replaying`
  Status was;                // before that
  const std::string& executor;
  const std::string& notes;
  TimePoint now;
  Millis took{0};
};
/// What is written of it: well, and it is resolved; badly, and it is as dead as before, with the
/// error as its newest attempt. A note or tag somebody added meanwhile is no reason to run it
/// twice.
[[nodiscard]] std::vector<Change> changes_after(const Ran& ran, Outcome outcome);

}  // namespace dlo
