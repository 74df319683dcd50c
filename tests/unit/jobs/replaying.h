#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "unit/jobs/fixture.h"

#include "dlo/jobs/replay_step.h"

namespace dlo {

/// Queues that drop repeats, as ours do.
class ReplayTest : public JobsTest {
 protected:
  static JobSpec plan_replay_spec(ReplaySpec replay = {}) {
    JobSpec spec;
    spec.replay = std::move(replay);
    spec.query = "source:payments";
    spec.notes = "fixed in 1.4";
    return spec;
  }
  Job plan_replay(ReplaySpec replay = {}) { return plan(plan_replay_spec(std::move(replay))); }
  ReplayTargets targets() {
    return {[](const std::string& target) -> Result<void> {
              if (target != "gone") return {};
              return Error{Code::not_found, "test", "there is no queue gone"};
            },
            [this](const std::string& target, std::span<const Publication> all,
                   TimePoint) -> Result<void> {
              if (target == vanishes_) return Error{Code::not_found, "test", "it has gone"};
              if (target == full_) return Error{Code::full, "test", target + " is full"};
              if (all.size() > most_at_once_) {
                return Error{Code::invalid_argument, "test", "more than it can ever hold"};
              }
              for (const Publication& each : all) {
                ++sent_;
                if (!known_.insert(each.dedupe_id).second) continue;
                arrived_.push_back(each);
                arrived_.back().dedupe_id = target;
              }
              if (after_sending_) std::exchange(after_sending_, nullptr)();
              if (fails_after_sending_) return Error{Code::unavailable, "test", "cut off"};
              return {};
            }};
  }
  std::vector<std::string> arrived_ids() const {
    std::vector<std::string> ids;
    for (const Publication& each : arrived_) ids.push_back(each.message->id);
    return ids;
  }
  ReplayTargets with_executors() {
    ReplayTargets all = targets();
    if (table_ != nullptr) {
      all.executor = [this](const std::string& name) {
        return find_executor(table_, name, Millis{500});
      };
      all.check = [this](const std::string& name) -> Result<void> {
        const auto found = find_executor(table_, name, Millis{500});
        return found ? Result<void>{} : found.error();
      };
    }
    return all;
  }
  Result<Stepped> go(const Job& job, std::size_t most = 100, TimePoint now = noon) {
    return replay_step(office_, with_executors(), job, must(book_.progress(job.id)), most, now,
                       stop_.get_token());
  }
  void resolve(std::size_t i, const std::string& how) {
    Transition transition;
    transition.id = id_of(i);
    transition.to = Status::resolved;
    transition.now = noon;
    transition.resolution = Resolution{noon, "ana", how, ""};
    const Change change = transition;
    must(office_.apply({&change, 1}));
  }
  /// The message died again, as the engine would record it.
  void come_back(std::size_t i, std::uint32_t occurrence) {
    auto record = std::make_shared<DeadLetter>(must(office_.get(id_of(i))).record);
    record->occurrence = occurrence;
    record->status = Status::pending;
    record->resolution.reset();
    record->died_at = noon + std::chrono::hours{1};
    const Change change = Append{record, {}};
    must(office_.apply({&change, 1}));
  }

  std::shared_ptr<HandlerTable> table_;  // of executors
  std::stop_source stop_;
  std::vector<Publication> arrived_;
  std::set<std::string> known_;
  std::size_t sent_ = 0;
  bool fails_after_sending_ = false;
  std::string vanishes_;  // this target, after it was there
  std::string full_;      // this target takes nothing
  std::size_t most_at_once_ = 1'000'000;
  std::function<void()> after_sending_;  // once, before it is written that they were sent
};

}  // namespace dlo
