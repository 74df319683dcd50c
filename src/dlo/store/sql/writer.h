#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

#include "dlo/core/result.h"
#include "dlo/store/sql/books.h"
#include "dlo/store/sql/failed.h"

namespace dlo::sql {

/// Something to be written, waiting for its turn. Lives in the caller's frame: the caller sleeps
/// until it is done, so what waits is bounded by the callers there are.
template <typename Session>
class GroupTask {
 public:
  GroupTask(std::size_t bytes, bool may_half_fail) : bytes_(bytes), may_half_fail_(may_half_fail) {}
  virtual ~GroupTask() = default;
  GroupTask(const GroupTask&) = delete;
  GroupTask& operator=(const GroupTask&) = delete;

  /// In the writer's thread, inside a transaction; may be run again if the transaction is lost.
  /// An error is the task's own; a thrown `Failed` is the office's, and so is a lack of memory.
  virtual Result<void> run(Session& session) = 0;

  /// Before anything of its group is run: tells the session what `run` will look at, so that it can
  /// be read for all of them at once.
  virtual void announce(Session& session) { (void)session; }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Whether an error can leave something written behind.
  [[nodiscard]] bool may_half_fail() const noexcept { return may_half_fail_; }

 private:
  template <typename Other>
  friend class GroupWriter;
  [[nodiscard]] bool failed() const noexcept { return out_of_memory_ || error_.has_value(); }
  template <typename Make>
  void fail(const Make& error) noexcept {
    try {
      error_ = error();
    } catch (const std::bad_alloc&) {
      error_.reset();
      out_of_memory_ = true;
    }
  }
  void forgive() noexcept {
    error_.reset();
    out_of_memory_ = false;
  }

  std::size_t bytes_;
  bool may_half_fail_;
  bool out_of_memory_ = false;  // instead of an error: there may be no room for its text
  bool given_up_ = false;       // its error is final
  std::optional<Error> error_;
  GroupTask* next_ = nullptr;  // in the queue, then in its group
  std::binary_semaphore done_{0};
};

/// Group commit: one thread writes everything that arrived while it was syncing in one transaction
/// with one sync, then answers everybody. Callers who come straight back for more would find the
/// next group already closed, and two half groups would take turns: after a group the writer waits
/// until they are back, but no longer than an eighth of what the group took. A task that fails
/// takes no other with it: what was written together with its half is written again without it.
/// Nothing ends the thread: whatever a task throws is answered to those whose tasks were in hand,
/// and queueing needs no memory.
template <typename Session>
class GroupWriter {
 public:
  using Task = GroupTask<Session>;
  explicit GroupWriter(Session& session);
  ~GroupWriter();
  GroupWriter(const GroupWriter&) = delete;
  GroupWriter& operator=(const GroupWriter&) = delete;

  /// Returns when the task is durable, or with why it is not.
  Result<void> write(Task& task);

  /// Syncs so far, for tests and metrics.
  [[nodiscard]] std::uint64_t commits() const noexcept { return commits_; }
  /// Tasks that wait for their turn now.
  [[nodiscard]] std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  /// Tasks that follow each other by `next_`, up to `end`.
  struct Group {
    Task* first = nullptr;
    Task* end = nullptr;
    template <typename Each>
    void each(const Each& visit) const {
      for (Task* task = first; task != end;) {
        Task* next = task->next_;  // whoever is answered may be gone
        visit(*task);
        task = next;
      }
    }
  };
  void work();
  void gather(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Group next_group();
  void write_group(Group group);
  enum class Ended : std::uint8_t { durable, one_failed, lost, again, unsure };
  [[nodiscard]] Ended try_group(Group group, bool savepoints);
  void announce(Group group);
  bool run_one(Task& task, bool savepoint);
  void refuse_waiting(const Error& error);

  Session& session_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  Task* first_ = nullptr;  // the queue
  Task* last_ = nullptr;
  std::size_t waiting_ = 0;
  std::size_t wanted_ = 1;    // so many must wait before the thread is woken
  std::size_t in_hand_ = 0;   // tasks of the group that is being written
  std::size_t expected_ = 0;  // who was answered with the last group, and who waited by then
  std::chrono::steady_clock::duration took_{};
  bool stopping_ = false;
  std::atomic<std::uint64_t> commits_{0};
  std::thread thread_;  // last: it uses everything above
};

namespace writing {

/// A transaction is not made larger than this by taking in one more task: memory stays bounded and
/// nobody waits long for a neighbour's bytes.
inline constexpr std::size_t group_bytes = 8U << 20U;

/// A transaction that was lost through nobody's fault is tried so often.
inline constexpr int most_tries = 5;

[[nodiscard]] inline Error out_of_memory() {
  return {Code::full, "office",
          "not enough memory to write this; nothing was changed; free memory or send less at once, "
          "then try again"};
}

[[nodiscard]] inline Error unforeseen(const std::exception& thrown) {
  return {Code::unavailable, "office",
          std::string("writing ended with \"") + thrown.what() +
              "\", which nobody foresaw; nothing was changed; please report it"};
}

}  // namespace writing

template <typename Session>
GroupWriter<Session>::GroupWriter(Session& session) : session_(session) {
  if constexpr (requires { session_.while_in_doubt({}); }) {
    session_.while_in_doubt([this](const Error& error) { refuse_waiting(error); });
  }
  thread_ = std::thread([this] { work(); });
}

template <typename Session>
GroupWriter<Session>::~GroupWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

template <typename Session>
Result<void> GroupWriter<Session>::write(Task& task) {
  bool enough = false;
  {
    const std::lock_guard lock(mutex_);
    (last_ == nullptr ? first_ : last_->next_) = &task;
    last_ = &task;
    enough = ++waiting_ >= wanted_;
  }
  if (enough) arrived_.notify_one();
  task.done_.acquire();
  if (task.out_of_memory_) return writing::out_of_memory();
  if (task.error_) return std::move(*task.error_);
  return {};
}

template <typename Session>
void GroupWriter<Session>::work() {
  for (Group group = next_group(); group.first != nullptr; group = next_group()) {
    const auto began = std::chrono::steady_clock::now();
    write_group(group);
    took_ = std::chrono::steady_clock::now() - began;
    expected_ = in_hand_ + waiting();
    group.each([](Task& task) { task.done_.release(); });
  }
}

/// Nothing of theirs was begun: they need not wait until it is known what became of the others.
template <typename Session>
void GroupWriter<Session>::refuse_waiting(const Error& error) {
  Group refused;
  {
    const std::lock_guard lock(mutex_);
    refused.first = std::exchange(first_, nullptr);
    last_ = nullptr;
    waiting_ = 0;
  }
  refused.each([&](Task& task) {
    task.fail([&] { return error; });
    task.done_.release();
  });
}

template <typename Session>
void GroupWriter<Session>::gather(std::unique_lock<std::mutex>& lock) {
  if (waiting_ >= expected_) return;
  wanted_ = expected_;
  arrived_.wait_for(lock, took_ / 8, [this] { return stopping_ || waiting_ >= wanted_; });
  wanted_ = 1;
}

template <typename Session>
typename GroupWriter<Session>::Group GroupWriter<Session>::next_group() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return stopping_ || first_ != nullptr; });
  gather(lock);
  const std::size_t before = waiting_;
  Group group{first_, nullptr};
  Task* last = nullptr;
  std::size_t bytes = 0;
  while (first_ != nullptr &&
         (last == nullptr || bytes + first_->bytes() <= writing::group_bytes)) {
    bytes += first_->bytes();
    last = std::exchange(first_, first_->next_);
    --waiting_;
  }
  if (last != nullptr) last->next_ = nullptr;
  if (first_ == nullptr) last_ = nullptr;
  in_hand_ = before - waiting_;
  return group;
}

template <typename Session>
void GroupWriter<Session>::write_group(Group group) {
  bool savepoints = false;
  for (int tries = 1;; ++tries) {
    std::size_t tasks = 0;
    group.each([&tasks](const Task& task) { tasks += task.given_up_ ? 0 : 1; });
    if (tasks == 0) return;
    switch (try_group(group, savepoints)) {
      case Ended::durable:
      case Ended::unsure:
        return;
      case Ended::again:
        if (tries >= writing::most_tries) return;
        group.each([](Task& task) {
          if (!task.given_up_) task.forgive();
        });
        break;
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

template <typename Session>
typename GroupWriter<Session>::Ended GroupWriter<Session>::try_group(Group group, bool savepoints) {
  const auto lose = [&](const auto& fail) {
    session_.roll_back();
    group.each([&](Task& task) {
      if (!task.given_up_) fail(task);
    });
    return Ended::lost;
  };
  try {
    session_.begin();
    announce(group);
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
    lose([&](Task& task) { task.fail([&] { return failed.error; }); });
    if (failed.loss == Loss::again) return Ended::again;
    return failed.loss == Loss::final_answer ? Ended::unsure : Ended::lost;
  } catch (const std::bad_alloc&) {
    return lose([](Task& task) { task.out_of_memory_ = true; });
  } catch (const std::exception& thrown) {
    return lose([&](Task& task) { task.fail([&] { return writing::unforeseen(thrown); }); });
  }
}

template <typename Session>
void GroupWriter<Session>::announce(Group group) {
  if constexpr (requires { session_.look_up(); }) {
    group.each([this](Task& task) {
      if (!task.given_up_) task.announce(session_);
    });
    session_.look_up();
  }
}

template <typename Session>
bool GroupWriter<Session>::run_one(Task& task, bool savepoint) {
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

}  // namespace dlo::sql
