#include "dlo/server/worker_pool.h"

#include <algorithm>
#include <utility>

namespace dlo {

WorkerPool::WorkerPool(std::size_t threads, std::size_t most_waiting)
    : most_waiting_(most_waiting) {
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

WorkerPool::~WorkerPool() {
  close();
}

bool WorkerPool::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || tasks_.size() >= most_waiting_) return false;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void WorkerPool::close() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (auto& thread : threads) thread.join();
}

std::size_t WorkerPool::waiting() const {
  const std::lock_guard lock(mutex_);
  return tasks_.size();
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it held is let go before the next wait
    lock.lock();
  }
}

}  // namespace dlo
