#include "dlo/store/sqlite/writer.h"

#include <exception>
#include <new>
#include <utility>

namespace dlo::sqlite {
namespace {

/// A transaction is not made larger than this by taking in one more task: memory stays bounded and
/// nobody waits long for a neighbour's bytes.
constexpr std::size_t group_bytes = 8U << 20U;

Error out_of_memory() {
  return {Code::full, "sqlite",
          "not enough memory to write this; nothing was changed; free memory or send less at once, "
          "then try again"};
}

Error unforeseen(const std::exception& thrown) {
  return {Code::unavailable, "sqlite",
          std::string("writing ended with \"") + thrown.what() +
              "\", which nobody foresaw; nothing was changed; please report it"};
}

}  // namespace

void Task::forgive() noexcept {
  error_.reset();
  out_of_memory_ = false;
}

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
  bool enough = false;
  {
    const std::lock_guard lock(mutex_);
    (last_ == nullptr ? first_ : last_->next_) = &task;
    last_ = &task;
    enough = ++waiting_ >= wanted_;
  }
  if (enough) arrived_.notify_one();
  task.done_.acquire();
  if (task.out_of_memory_) return out_of_memory();
  if (task.error_) return std::move(*task.error_);
  return {};
}

void Writer::work() {
  for (Group group = next_group(); group.first != nullptr; group = next_group()) {
    const auto began = std::chrono::steady_clock::now();
    write_group(group);
    took_ = std::chrono::steady_clock::now() - began;
    expected_ = in_hand_ + waiting();
    group.each([](Task& task) { task.done_.release(); });
  }
}

void Writer::gather(std::unique_lock<std::mutex>& lock) {
  if (waiting_ >= expected_) return;
  wanted_ = expected_;
  arrived_.wait_for(lock, took_ / 8, [this] { return stopping_ || waiting_ >= wanted_; });
  wanted_ = 1;
}

Writer::Group Writer::next_group() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return stopping_ || first_ != nullptr; });
  gather(lock);
  const std::size_t before = waiting_;
  Group group{first_, nullptr};
  Task* last = nullptr;
  std::size_t bytes = 0;
  while (first_ != nullptr && (last == nullptr || bytes + first_->bytes() <= group_bytes)) {
    bytes += first_->bytes();
    last = std::exchange(first_, first_->next_);
    --waiting_;
  }
  if (last != nullptr) last->next_ = nullptr;
  if (first_ == nullptr) last_ = nullptr;
  in_hand_ = before - waiting_;
  return group;
}

void Writer::write_group(Group group) {
  bool savepoints = false;
  for (;;) {
    std::size_t tasks = 0;
    group.each([&tasks](const Task& task) { tasks += task.given_up_ ? 0 : 1; });
    if (tasks == 0) return;
    switch (try_group(group, savepoints)) {
      case Ended::durable:
        return;
      case Ended::one_failed:
        savepoints = true;
        group.each([](Task& task) { task.given_up_ = task.failed(); });
        break;
      case Ended::lost:
        if (tasks == 1) return;
        // Full disk, a value too big: perhaps one task's fault, so each tries alone.
        group.each([this](Task& task) {
          if (task.given_up_) return;
          task.forgive();
          write_group({&task, task.next_});
        });
        return;
    }
  }
}

Writer::Ended Writer::try_group(Group group, bool savepoints) {
  const auto lose = [&](const auto& fail) {
    session_.roll_back();
    group.each([&](Task& task) {
      if (!task.given_up_) fail(task);
    });
    return Ended::lost;
  };
  try {
    session_.begin();
    for (Task* task = group.first; task != group.end; task = task->next_) {
      if (task->given_up_) continue;
      if (!run_one(*task, savepoints)) {
        session_.roll_back();
        return Ended::one_failed;
      }
    }
    session_.commit();
    commits_.fetch_add(1, std::memory_order_relaxed);
    return Ended::durable;
  } catch (const Failed& failed) {
    return lose([&](Task& task) { task.fail([&] { return failed.error; }); });
  } catch (const std::bad_alloc&) {
    return lose([](Task& task) { task.out_of_memory_ = true; });
  } catch (const std::exception& thrown) {
    return lose([&](Task& task) { task.fail([&] { return unforeseen(thrown); }); });
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
  task.fail([&] { return ran.error(); });
  if (guarded) {
    session_.back_to_savepoint();
  } else if (!wrote) {
    session_.books().give_back(before);  // a refusal alone costs no sync
  }
  return guarded || !wrote;
}

}  // namespace dlo::sqlite
