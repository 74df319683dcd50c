#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/jobs/job.h"
#include "dlo/store/office.h"

namespace dlo {

inline constexpr const char* job_kind = "job";
/// Ended, and something is left to be done.
inline constexpr const char* wind_up_kind = "job_wind_up";
/// Those that are running: who works on them reads these, however many have ended.
inline constexpr const char* running_kind = "job_running";
/// All of them, newest first: keys are ids turned round, bodies are the state and the act.
inline constexpr const char* newest_kind = "job_newest";
/// Those that ended or were never started, oldest first: keys are a time and an id.
inline constexpr const char* forget_kind = "job_forget";

/// Since when nobody does anything with a job: its end, or its plan while it is only that. Nothing
/// while it is running or paused.
[[nodiscard]] std::optional<TimePoint> idle_since(const Job& job) noexcept;

/// What is written along with a job as it is now, so that it is found without reading all others.
void add_index(const Job& job, std::vector<Change>& changes);

/// What takes its entries away when the job itself goes.
void remove_index(const Job& job, std::vector<Change>& changes);

/// The key of a job among the newest, and back: the larger id has the smaller key.
[[nodiscard]] std::string newest_key(const std::string& id);
[[nodiscard]] std::string id_of_newest(const std::string& key);
/// "running replay".
[[nodiscard]] std::string newest_text(const Job& job);

/// One entry of `forget_kind`.
struct ForgetEntry {
  TimePoint since{};
  std::string job;
};
[[nodiscard]] std::optional<ForgetEntry> parse_forget_key(const std::string& key);

/// Jobs that were written by a version without these entries get theirs. Looked for once in the
/// life of an office.
[[nodiscard]] Result<void> adopt_older_jobs(Office& office);

}  // namespace dlo
