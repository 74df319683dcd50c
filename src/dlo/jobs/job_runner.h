#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "dlo/engine/clock.h"
#include "dlo/jobs/job_book.h"
#include "dlo/jobs/job_step.h"
#include "dlo/jobs/replay.h"
#include "dlo/store/office.h"

namespace dlo {

/// Works on all running jobs, in turns, so that a large one does not hold up a small one. What has
/// executors run its messages takes as long as they do, and has a thread of its own: everything
/// else goes on meanwhile. What was running when the process died goes on. One for each office.
class JobRunner {
 public:
  struct Options {
    std::size_t batch = 200;            // items in one write
    std::size_t outside_batch = 2'000;  // ... that go to another broker, which answers later
    Millis go_on_for{250};              // with a replay that nothing slows down, in one turn
    Millis go_on_alone{1'000};          // ... if there is no other job, until somebody wakes us
    Millis again_after{1'000};          // while the office is unavailable
    Millis quiet_for{14LL * 24 * 3'600'000};  // then a group without open dead letters is resolved
    Millis keep_every{600'000};
    std::optional<Millis> discard_grace{};  // then what was discarded is removed; empty: never here
    std::optional<Millis> keep_jobs{};      // then what ended is forgotten; empty: never here
  };
  JobRunner(Office& office, JobBook& book, const Clock& clock, ReplayTargets targets)
      : JobRunner(office, book, clock, std::move(targets), Options{}) {}
  JobRunner(Office& office, JobBook& book, const Clock& clock, ReplayTargets targets,
            Options options);
  ~JobRunner();
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  /// There may be something to do: a job was started, resumed, paused or cancelled.
  void wake();
  /// Finishes the write it is at; an executor is interrupted, and its message run again later.
  void stop();

  /// One turn of every running job; when to look again, if a rate or the office asks for patience,
  /// and nothing if no job is running. The runner's own threads do this by themselves.
  std::optional<TimePoint> turn();

 private:
  /// The jobs of one thread.
  struct Lane {
    bool executors = false;
    std::map<std::string, TimePoint> due{};  // by job: not before
    bool woken = true;                       // at first: what an earlier process left
    std::stop_source others{};               // somebody has woken us: what goes on by itself ends
    std::thread thread{};
  };
  std::optional<TimePoint> turn(Lane& lane);
  [[nodiscard]] static bool is_in(const Lane& lane, const Job& job) noexcept;
  [[nodiscard]] bool goes_outside(const Job& job) const;
  TimePoint work_on(const Lane& lane, const Job& job, bool alone, TimePoint now);
  /// What an ended replay left under way.
  TimePoint wind_up(const Job& job, TimePoint now);
  Result<Stepped> step_of(const Lane& lane, const Job& job, bool alone, const JobProgress& before,
                          std::size_t most, TimePoint now);
  /// What time does to groups, to what is exhausted, to what was discarded, to jobs that ended and
  /// to what somebody died over while sending it; when to look again.
  TimePoint keep_house();
  TimePoint keep_jobs(TimePoint now);
  void loop(Lane& lane);

  Office& office_;
  JobBook& book_;
  const Clock& clock_;
  const ReplayTargets targets_;
  const Options options_;
  TimePoint keep_at_{};  // of the first lane's thread, as are
  TimePoint archive_at_{};
  TimePoint forget_at_{};
  std::atomic<bool> adopted_ = false;  // every job has its entries

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::stop_source stop_;  // what an executor is at
  std::array<Lane, 2> lanes_{Lane{false}, Lane{true}};
};

}  // namespace dlo
