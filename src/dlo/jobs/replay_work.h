#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlo/core/acts.h"
#include "dlo/core/result.h"
#include "dlo/jobs/job_set.h"
#include "dlo/jobs/job_step.h"
#include "dlo/jobs/replay.h"
#include "dlo/repair/recipe.h"
#include "dlo/store/office.h"

namespace dlo {

/// One step of a replay, for `replay_step.h` alone. Taking is in replay_step.cc, sending in
/// replay_send.cc, running in replay_run.cc, watching in replay_watch.cc.
class ReplayWork {
 public:
  ReplayWork(Office& office, const ReplayTargets& targets, const Job& job, JobProgress progress,
             TimePoint now, const std::stop_token& stop)
      : office_(office),
        targets_(targets),
        job_(job),
        spec_(*job.spec.replay),
        progress_(std::move(progress)),
        now_(now),
        stop_(stop) {}

  Result<Stepped> run(std::size_t most);
  /// For a job that ended: what was taken is sent or given back, and the watch goes on.
  Result<Stepped> wind_up();

 private:
  using Outcomes = std::vector<std::pair<RecordId, std::string>>;

  /// The fix is none: whoever was to fix it hears of it.
  Result<Stepped> stop();
  Result<Stepped> write(std::vector<Change> changes, Outcomes outcomes, JobProgress next,
                        const std::vector<RecordId>& acted = {});
  [[nodiscard]] std::string mark_of(const DeadLetter& record) const;
  [[nodiscard]] std::string target_of(const DeadLetter& record) const;
  [[nodiscard]] Transition move(const DeadLetter& record, Status to) const;

  /// What was taken goes back to what it was.
  Result<Stepped> return_taken();

  // Taking.

  /// The next ones become `replaying`, with the cursor behind them and their ids in the progress.
  Result<Stepped> take(std::size_t most);
  /// What is to be taken next: in order of keys, each key once.
  Result<JobSlice> next_slice(std::size_t most) const;
  Result<void> take_one(const RecordDetail& detail, const RecordHead& head, const Recipe& recipe,
                        std::vector<Change>& changes, Outcomes& outcomes, JobProgress& next);
  [[nodiscard]] std::uint32_t limit_of(const DeadLetter& record) const;
  /// A recipe makes a version first, in the same write: what is sent is what stands there.
  Result<void> take_and_repair(const RecordDetail& detail, const Recipe& recipe,
                               std::vector<Change>& changes, Outcomes& outcomes,
                               JobProgress& next) const;

  // Sending.

  /// Sends what was taken, by this process or one that died, and writes that down.
  Result<Stepped> send_taken();
  /// Runs the one that was taken where its outcome is known at once (replay_run.cc).
  Result<Stepped> run_taken(const Taken& taken);
  /// Taken, and not `replaying` any more: it came back or was cured before we could write that it
  /// was sent, or a person stepped in.
  void settle_early(const Result<RecordDetail>& detail, const Taken& taken, JobProgress& next,
                    Outcomes& outcomes) const;
  /// What is written once it was tried.
  struct Tried {
    JobProgress next;
    std::vector<Change> changes{};
    Outcomes outcomes{};
    std::vector<RecordId> sent{};
  };
  /// What became of one that was taken: sent, unless it is refused.
  struct Fate {
    Taken taken;
    std::string target;
    std::optional<Error> refused{};
  };
  struct Fates {
    std::vector<Fate> all;
    std::optional<Error> later{};  // some of them have to be sent again
  };
  void send_part(const std::string& target, std::span<const Publication> publications,
                 std::span<const Taken> taken, Fates& fates);
  void send_outside(const std::string& target, std::span<const Publication> publications,
                    std::span<const Taken> taken, Fates& fates);
  static void note_refusal(const Error& error, std::span<const Taken> taken, Fates& fates);
  Result<Stepped> write_fates(const Fates& fates);
  Result<Tried> try_fates(const Fates& fates) const;
  /// The target has it.
  void note_sent(const DeadLetter& record, Tried& tried) const;
  /// It cannot be sent there: it goes back to where it can be dealt with.
  void give_back(const DeadLetter& record, Status was, Tried& tried) const;
  /// Why nothing can be sent to `target`, now or later; nothing if it can. Asked once a step.
  Result<std::optional<std::string>> no_way_to(const std::string& target);

  // Watching.

  /// What became of those that were sent.
  Result<Stepped> watch();
  // Each answers whether it saw everything there is to see now.
  Result<bool> look_at_changes();
  Result<bool> settle_all();   // time is up: by slices, whatever became of them
  Result<bool> presume_all();  // the same of many, those first that are not back
  /// Adds what is written of one that is not back; nothing if it is not this job's.
  Result<void> presume(const RecordHead& head, Tried& tried) const;
  /// `place_moved`: how far we are is to be written, even if none of these is settled.
  Result<bool> settle(const std::vector<Taken>& all, bool time_is_up, bool place_moved);
  [[nodiscard]] std::optional<std::string_view> outcome_of(const DeadLetter& record,
                                                           std::uint32_t occurrence,
                                                           bool time_is_up,
                                                           std::vector<Change>& changes) const;
  void came_back(const DeadLetter& record, const Id128& sent_from, JobProgress& next) const;
  [[nodiscard]] Resolution presumed() const {
    return {now_, "", std::string(how_republished), job_.spec.notes};
  }
  /// Whether those that are awaited are so few that the progress names them.
  [[nodiscard]] bool few_at_a_time() const noexcept {
    return spec_.concurrency > 0 || job_.spec.by_key;
  }

  Office& office_;
  const ReplayTargets& targets_;
  const Job& job_;
  const ReplaySpec& spec_;
  JobProgress progress_;
  TimePoint now_;
  std::stop_token stop_;
  std::map<std::string, std::optional<std::string>> ways_{};  // what `no_way_to` found out
};

inline constexpr Millis replay_lease{600'000};  // to send one batch

/// One more that cannot go to `target`.
void count_unreachable(JobProgress& progress, const std::string& target, const std::string& reason);

/// What an item says while its outcome is awaited: the occurrence that was sent, and its group.
[[nodiscard]] std::string text_of(const Taken& sent);
/// What an item says was sent; nothing if it is settled.
[[nodiscard]] std::optional<Taken> parse_sent(const Document& item);

}  // namespace dlo
