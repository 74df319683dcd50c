#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dlo {

/// Threads that may block, for everything that touches an office or a queue. Who went to sleep last
/// is woken first: what it worked with is still near, so few threads do what few can do.
/// Threads  Any method from any thread.
class WorkerPool {
 public:
  using Task = std::function<void()>;

  /// At most `most_waiting` tasks wait for a thread.
  WorkerPool(std::size_t threads, std::size_t most_waiting);
  /// Finishes what was taken in.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False: too many are waiting, or the pool is closed; `task` was not taken in. What a task
  /// throws ends the program: tasks turn errors into answers.
  [[nodiscard]] bool post(Task task);

  /// Takes nothing more in, finishes what was, and returns.
  void close();

  [[nodiscard]] std::size_t waiting() const;
  /// How many threads sleep.
  [[nodiscard]] std::size_t idle() const;

 private:
  /// One that has nothing to do.
  struct Idle {
    std::condition_variable wake;
    bool called = false;
  };
  void work();
  void sleep(std::unique_lock<std::mutex>& lock);
  void call(Idle& idle);

  const std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::vector<Idle*> idle_;  // the last one was busy last
  std::deque<Task> tasks_;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dlo
