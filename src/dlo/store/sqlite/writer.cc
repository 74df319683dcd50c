#include "dlo/store/sqlite/writer.h"

#include <algorithm>
#include <utility>

namespace dlo::sqlite {
namespace {

/// A transaction is not made larger than this by taking in one more task: memory stays bounded and
/// nobody waits long for a neighbour's bytes.
constexpr std::size_t group_bytes = 8U << 20U;

}  // namespace

Writer::Writer(Session& session) : session_(session), thread_([this] { work(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

Result<void> Writer::write(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(&task);
  }
  arrived_.notify_one();
  task.done_.acquire();
  if (task.error_) return std::move(*task.error_);
  return {};
}

void Writer::work() {
  for (Group group; !(group = next_group()).empty();) {
    write_group(group);
    for (Task* task : group) task->done_.release();
  }
}

Writer::Group Writer::next_group() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
  std::size_t bytes = 0;
  auto end = waiting_.begin();
  while (end != waiting_.end() && (bytes == 0 || bytes + (*end)->bytes() <= group_bytes)) {
    bytes += (*end)->bytes() + 1;
    ++end;
  }
  Group group(waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  return group;
}

void Writer::write_group(Group group) {
  const auto drop_failed = [&group] {
    std::erase_if(group, [](const Task* task) { return task->error_.has_value(); });
  };
  bool savepoints = false;
  while (!group.empty()) {
    switch (try_group(group, savepoints)) {
      case Ended::durable:
        return;
      case Ended::one_failed:
        savepoints = true;
        drop_failed();
        break;
      case Ended::lost:
        // Full disk, a value too big: perhaps one task's fault, so each tries alone.
        if (group.size() == 1) return;
        for (Task* task : group) {
          task->error_.reset();
          write_group({task});
        }
        return;
    }
  }
}

Writer::Ended Writer::try_group(const Group& group, bool savepoints) {
  try {
    session_.begin();
    for (Task* task : group) {
      if (task->error_) continue;
      if (!run_one(*task, savepoints)) {
        session_.roll_back();
        return Ended::one_failed;
      }
    }
    session_.commit();
    commits_.fetch_add(1, std::memory_order_relaxed);
    return Ended::durable;
  } catch (const Failed& failed) {
    session_.roll_back();
    for (Task* task : group) task->error_ = failed.error;
    return Ended::lost;
  }
}

bool Writer::run_one(Task& task, bool savepoint) {
  const bool guarded = savepoint && task.may_half_fail();
  if (guarded) session_.set_savepoint();
  (void)session_.take_wrote();
  const Sequences before = session_.books().sequences();
  const Result<void> ran = task.run(session_);
  const bool wrote = session_.take_wrote();
  if (ran) {
    if (guarded) session_.drop_savepoint();
    return true;
  }
  task.error_ = ran.error();
  if (guarded) {
    session_.back_to_savepoint();
  } else if (!wrote) {
    session_.books().give_back(before);  // a refusal alone costs no sync
  }
  return guarded || !wrote;
}

}  // namespace dlo::sqlite
