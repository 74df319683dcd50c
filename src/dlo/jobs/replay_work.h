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
/// replay_send.cc, both at a time in replay_stream.cc, running in replay_run.cc, watching in
/// replay_watch.cc.
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

  Result<Stepped> run(std::size_t most, Millis go_on_for);
  /// For a job that ended: what was taken is sent or given back, and the watch goes on.
  Result<Stepped> wind_up();

 private:
  using Outcomes = std::vector<std::pair<RecordId, std::string>>;

  /// What is written next.
  struct Tried {
    JobProgress next;
    std::vector<Change> changes{};
    Outcomes outcomes{};
    std::vector<RecordId> sent{};
  };
  /// One that was taken: sent, unless it is refused.
  struct Fate {
    Taken taken;
    std::optional<RecordDetail> detail{};  // as it is since it was taken; empty: to be read
    std::string target{};
    std::optional<Error> refused{};
  };
  /// The first of those that the progress says are taken, in its order.
  struct Fates {
    std::vector<Fate> all{};
    std::optional<Error> later{};  // some of them have to be sent again
    std::size_t kept = 0;          // bytes of what was read of them
  };

  /// The fix is none: whoever was to fix it hears of it.
  Result<Stepped> stop();
  Result<Stepped> write(Tried tried);
  [[nodiscard]] std::string mark_of(const DeadLetter& record) const;
  [[nodiscard]] std::string target_of(const DeadLetter& record) const;
  [[nodiscard]] Transition move(const DeadLetter& record, Status to) const;

  /// What was taken goes back to what it was.
  Result<Stepped> return_taken();

  // Taking.

  /// How many may be taken, of `most`, so that the job's limit holds.
  [[nodiscard]] std::size_t room_for(std::size_t most) const noexcept;
  /// The next ones are taken, sent and written down as sent.
  Result<Stepped> take(std::size_t most);
  /// Adds to `tried` that the next ones become `replaying`, with the cursor behind them and their
  /// ids in the progress; answers these.
  Result<Fates> take_next(std::size_t most, Tried& tried);
  /// What is to be taken next: in order of keys, each key once.
  Result<JobSlice> next_slice(std::size_t most, const JobProgress& from) const;
  Result<void> take_one(RecordDetail detail, const RecordHead& head, Tried& tried, Fates& slice);
  [[nodiscard]] std::uint32_t limit_of(const DeadLetter& record) const;
  /// A recipe makes a version first, in the same write: what is sent is what stands there.
  Result<void> take_and_repair(RecordDetail detail, Tried& tried, Fates& slice) const;
  /// Sending it need not read it again, unless there are too many bytes of them.
  static void keep(RecordDetail detail, const Transition& taken, Fates& slice);
  Result<void> read_recipe();

  // Taking and sending at a time.

  /// Whether nothing but the office and the target holds this job up: no wave, rate or key.
  [[nodiscard]] bool streams() const noexcept;
  /// While some are sent, what became of those before them is written, together with the taking of
  /// those that follow, for as long as is asked for.
  Result<Stepped> stream(Millis go_on_for);
  /// Writes what became of `done` and takes `most` more, into `next`. Why these cannot be taken, if
  /// they cannot, is in `trouble`: it concerns nobody who was taken before.
  Result<void> write_and_take(Fates& done, std::size_t most, Fates& next,
                              std::optional<Error>& trouble);
  /// Writes `tried` and the taking of `most` more; false if nothing was written, since there is
  /// trouble with these or somebody was quicker with one.
  Result<bool> take_also(Tried tried, std::size_t most, Fates& next, std::optional<Error>& trouble);

  // Sending.

  /// Sends what was taken, by this process or one that died, and writes that down.
  Result<Stepped> send_taken();
  /// Tries each of them. An error: they cannot be read. Not about the progress: it may be called
  /// while somebody writes.
  Result<void> send(Fates& fates) const;
  /// Runs the one that was taken where its outcome is known at once (replay_run.cc).
  Result<Stepped> run_taken(const Taken& taken);
  /// Taken, and not `replaying` any more: it came back or was cured before we could write that it
  /// was sent, or a person stepped in.
  void settle_early(const DeadLetter* record, const Taken& taken, Tried& tried) const;
  /// What goes to one target.
  struct Batch {
    std::vector<Publication> publications{};
    std::vector<std::size_t> places{};  // among the fates
  };
  void send_batch(const std::string& target, const Batch& batch, Fates& fates) const;
  void send_part(const std::string& target, std::span<const Publication> publications,
                 std::span<const std::size_t> places, Fates& fates) const;
  void send_outside(const std::string& target, std::span<const Publication> publications,
                    std::span<const std::size_t> places, Fates& fates) const;
  static void note_refusal(const Error& error, std::span<const std::size_t> places, Fates& fates);
  Result<Stepped> write_fates(Fates& fates);
  Result<Tried> try_fates(const Fates& fates) const;
  /// `record` is as it is now; null: it is gone.
  void try_fate(const Fate& fate, const DeadLetter* record, Tried& tried) const;
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
  std::optional<Recipe> recipe_{};                            // once it was read
  bool others_are_quick_ = false;  // they deal with what was sent before that is written down
};

inline constexpr Millis replay_lease{600'000};  // to send one batch

/// One more that cannot go to `target`.
void count_unreachable(JobProgress& progress, const std::string& target, const std::string& reason);

/// What an item says while its outcome is awaited: the occurrence that was sent, and its group.
[[nodiscard]] std::string text_of(const Taken& sent);
/// What an item says was sent; nothing if it is settled.
[[nodiscard]] std::optional<Taken> parse_sent(const Document& item);

}  // namespace dlo
