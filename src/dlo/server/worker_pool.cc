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
  const std::lock_guard lock(mutex_);
  if (closed_ || tasks_.size() >= most_waiting_) return false;
  tasks_.push_back(std::move(task));
  if (idle_.empty()) return true;
  Idle& next = *idle_.back();
  idle_.pop_back();
  call(next);
  return true;
}

void WorkerPool::call(Idle& idle) {
  idle.called = true;
  idle.wake.notify_one();
}

void WorkerPool::close() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    threads.swap(threads_);
    for (Idle* each : idle_) call(*each);
    idle_.clear();
  }
  for (auto& thread : threads) thread.join();
}

std::size_t WorkerPool::waiting() const {
  const std::lock_guard lock(mutex_);
  return tasks_.size();
}

std::size_t WorkerPool::idle() const {
  const std::lock_guard lock(mutex_);
  return idle_.size();
}

void WorkerPool::sleep(std::unique_lock<std::mutex>& lock) {
  Idle self;
  idle_.push_back(&self);
  self.wake.wait(lock, [&] { return self.called; });
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    while (tasks_.empty()) {
      if (closed_) return;
      sleep(lock);
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it held is let go before the next wait
    lock.lock();
  }
}

}  // namespace dlo
