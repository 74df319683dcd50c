#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <semaphore>
#include <thread>

#include "dlo/core/result.h"
#include "dlo/store/sqlite/session.h"

namespace dlo::sqlite {

/// Something to be written, waiting for its turn. Lives in the caller's frame: the caller sleeps
/// until it is done, so what waits is bounded by the callers there are.
class Task {
 public:
  Task(std::size_t bytes, bool may_half_fail) : bytes_(bytes), may_half_fail_(may_half_fail) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// In the writer's thread, inside a transaction; may be run again if the transaction is lost.
  /// An error is the task's own; a thrown `Failed` is the office's, and so is a lack of memory.
  virtual Result<void> run(Session& session) = 0;

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Whether an error can leave something written behind.
  [[nodiscard]] bool may_half_fail() const noexcept { return may_half_fail_; }

 private:
  friend class Writer;
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
  void forgive() noexcept;

  std::size_t bytes_;
  bool may_half_fail_;
  bool out_of_memory_ = false;  // instead of an error: there may be no room for its text
  bool given_up_ = false;       // its error is final
  std::optional<Error> error_;
  Task* next_ = nullptr;  // in the queue, then in its group
  std::binary_semaphore done_{0};
};

/// Group commit: one thread writes everything that arrived while it was syncing in one transaction
/// with one sync, then answers everybody. Callers who come straight back for more would find the
/// next group already closed, and two half groups would take turns: after a group the writer waits
/// until they are back, but no longer than an eighth of what the group took. A task that fails
/// takes no other with it: what was written together with its half is written again without it.
/// Nothing ends the thread: whatever a task throws is answered to those whose tasks were in hand,
/// and queueing needs no memory.
class Writer {
 public:
  explicit Writer(Session& session);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

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
  enum class Ended : std::uint8_t { durable, one_failed, lost };
  [[nodiscard]] Ended try_group(Group group, bool savepoints);
  bool run_one(Task& task, bool savepoint);

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

}  // namespace dlo::sqlite
