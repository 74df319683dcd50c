#include "dlo/jobs/job_runner.h"

#include <algorithm>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/discard_keeper.h"
#include "dlo/jobs/group_keeper.h"
#include "dlo/jobs/job_index.h"
#include "dlo/jobs/job_keeper.h"
#include "dlo/jobs/replay_keeper.h"
#include "dlo/jobs/replay_step.h"
#include "dlo/jobs/replay_target.h"
#include "dlo/jobs/retention_keeper.h"

namespace dlo {
namespace {

constexpr Millis least_pause{1'000};
constexpr Millis archive_every = std::chrono::hours{1};  // what is exhausted and old

ReplayTargets measured(ReplayTargets targets, const Clock& clock) {
  if (!targets.ticks) targets.ticks = [&clock] { return clock.ticks(); };
  return targets;
}

}  // namespace

JobRunner::JobRunner(Office& office, JobBook& book, const Clock& clock, ReplayTargets targets,
                     Options options)
    : office_(office),
      book_(book),
      clock_(clock),
      targets_(measured(std::move(targets), clock)),
      options_(options) {
  for (Lane& lane : lanes_) lane.thread = std::thread([this, &lane] { loop(lane); });
}

JobRunner::~JobRunner() {
  stop();
}

void JobRunner::wake() {
  const std::lock_guard lock(mutex_);
  for (Lane& lane : lanes_) {
    lane.woken = true;
    lane.others.request_stop();
  }
  changed_.notify_all();
}

void JobRunner::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (Lane& lane : lanes_) lane.others.request_stop();
    changed_.notify_all();
  }
  stop_.request_stop();
  for (Lane& lane : lanes_) {
    if (lane.thread.joinable()) lane.thread.join();
  }
}

Result<Stepped> JobRunner::step_of(const Lane& lane, const Job& job, bool alone,
                                   const JobProgress& before, std::size_t most, TimePoint now) {
  if (job.spec.replay) {
    // Who is paused or gets company hears of it at the next slice; an executor is not interrupted.
    const auto until = lane.executors ? stop_.get_token() : lane.others.get_token();
    return replay_step(office_, targets_, job, before, most, now, until,
                       alone ? options_.go_on_alone : options_.go_on_for);
  }
  return step(office_, job, before, most, now,
              [this](const std::string& source) { return bool(targets_.check(source)); });
}

/// Another broker confirms many in hardly more time than few.
bool JobRunner::goes_outside(const Job& job) const {
  if (!job.spec.replay || !targets_.outside.covers) return false;
  const std::string& target = job.spec.replay->target;
  return target.empty() || is_outside(targets_, target);
}

/// Answers when this job may be worked on again.
TimePoint JobRunner::work_on(const Lane& lane, const Job& job, bool alone, TimePoint now) {
  std::size_t most = goes_outside(job) ? options_.outside_batch : options_.batch;
  // Four times a second is smooth enough, and a batch is cheaper than its parts.
  if (job.spec.rate) most = std::clamp<std::size_t>(*job.spec.rate / 4, 1, most);
  const auto before = book_.progress(job.id);
  const auto stepped = before ? step_of(lane, job, alone, *before, most, now) : before.error();
  if (!stepped) {
    const Error& error = stepped.error();
    if (!will_pass(error)) (void)book_.end(job.id, JobState::failed, error.detail, now);
    return now + options_.again_after;
  }
  if (stepped->over) {
    const bool whole = stepped->stopped.empty();
    (void)book_.end(job.id, whole ? JobState::done : JobState::stopped, stepped->stopped, now);
  }
  if (stepped->not_before) return *stepped->not_before;
  if (!job.spec.rate) return now;
  // What others had changed took no time of anybody's.
  const auto acted_on = [](const JobCounts& counts) { return counts.total() - counts.changed; };
  const auto did = acted_on(stepped->progress.counts) - acted_on(before->counts);
  return now + Millis{static_cast<std::int64_t>(did * 1000 / *job.spec.rate)};
}

TimePoint JobRunner::wind_up(const Job& job, TimePoint now) {
  const auto before = book_.progress(job.id);
  const auto stepped = before ? replay_wind_up(office_, targets_, job, *before, now)
                              : Result<Stepped>(before.error());
  if (!stepped && will_pass(stepped.error())) return now + options_.again_after;
  if (!stepped || stepped->over) {
    const auto written = book_.wound_up(job.id);
    return written ? now : now + options_.again_after;
  }
  return stepped->not_before.value_or(now);
}

bool JobRunner::is_in(const Lane& lane, const Job& job) noexcept {
  return lane.executors == (job.spec.replay && is_executor(job.spec.replay->target));
}

std::optional<TimePoint> JobRunner::turn() {
  std::optional<TimePoint> next;
  for (Lane& lane : lanes_) {
    const auto when = turn(lane);
    if (when) next = std::min(next.value_or(*when), *when);
  }
  return next;
}

std::optional<TimePoint> JobRunner::turn(Lane& lane) {
  if (!adopted_ && !lane.executors && adopt_older_jobs(office_)) {
    adopted_ = true;
    wake();  // the other lane waits for it
  }
  if (!adopted_) return clock_.now() + options_.again_after;
  const auto all = book_.running();
  const auto ended = all ? book_.to_wind_up() : all.error();
  if (!ended) return clock_.now() + options_.again_after;
  const bool alone = all->size() + ended->size() == 1;
  std::map<std::string, TimePoint> due;
  const auto take_turn = [&](const Job& job, TimePoint first, bool over) {
    const TimePoint now = clock_.now();
    const auto known = lane.due.find(job.id);
    const TimePoint when = known == lane.due.end() ? first : known->second;
    due[job.id] = when > now ? when : over ? wind_up(job, now) : work_on(lane, job, alone, now);
  };
  for (const Job& job : *all) {
    if (is_in(lane, job)) take_turn(job, job.spec.not_before.value_or(TimePoint::min()), false);
  }
  for (const std::string& id : *ended) {
    const auto job = book_.get(id);
    if (!job && will_pass(job.error())) return clock_.now() + options_.again_after;
    if (!job && !lane.executors) (void)book_.wound_up(id);
    if (job && is_in(lane, *job)) take_turn(*job, TimePoint::min(), true);
  }
  lane.due = std::move(due);
  std::optional<TimePoint> next;
  for (const auto& [id, when] : lane.due) next = std::min(next.value_or(when), when);
  return next;
}

TimePoint JobRunner::keep_house() {
  const TimePoint now = clock_.now();
  if (now >= archive_at_) {
    (void)archive_old(office_, targets_, now, stop_.get_token());
    archive_at_ = now + archive_every;
  }
  if (now >= keep_at_) {
    // What cannot be done now is done the next time.
    (void)keep_groups(office_, options_.quiet_for, now);
    (void)reclaim_replaying(office_, book_, now);
    keep_at_ = now + options_.keep_every;
    if (const auto& grace = options_.discard_grace) {
      const auto removed = sweep_discarded(office_, *grace, now);
      // There may be more, and a short grace is meant.
      const Millis pause = removed && *removed > 0 ? least_pause : std::max(*grace, least_pause);
      keep_at_ = std::min(keep_at_, now + pause);
    }
  }
  return std::min({keep_at_, archive_at_, keep_jobs(now)});
}

TimePoint JobRunner::keep_jobs(TimePoint now) {
  if (!options_.keep_jobs || now < forget_at_) {
    return options_.keep_jobs ? forget_at_ : now + options_.keep_every;
  }
  const auto removed = forget_jobs(office_, *options_.keep_jobs, now);
  const Millis pause = std::min(options_.keep_every, std::max(*options_.keep_jobs, least_pause));
  forget_at_ = now + (removed && *removed > 0 ? least_pause : pause);  // there may be more
  return forget_at_;
}

void JobRunner::loop(Lane& lane) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!lane.woken) {
      changed_.wait(lock, [&] { return lane.woken || stopping_; });
      continue;
    }
    lane.woken = false;
    lane.others = std::stop_source();
    lock.unlock();
    const TimePoint keep = lane.executors ? TimePoint::max() : keep_house();
    const TimePoint next = std::min(turn(lane).value_or(keep), keep);
    lock.lock();
    while (!stopping_ && !lane.woken && clock_.now() < next) {
      clock_.wait_until(lock, changed_, next);
    }
    lane.woken = true;  // there is more to do
  }
}

}  // namespace dlo
