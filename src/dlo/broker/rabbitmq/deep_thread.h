#pragma once

#include <functional>
#include <pthread.h>
#include <stop_token>

namespace dlo::rabbitmq {

/// A thread with room for tables nested as deep as a frame can have them: rabbitmq-c 0.11 reads
/// them by calling itself, and a frame of 1 MB can nest 200 000 times. What is not used costs
/// nothing.
class DeepThread {
 public:
  static constexpr std::size_t stack = std::size_t{64} << 20U;

  DeepThread() = default;
  ~DeepThread() { join(); }
  DeepThread(const DeepThread&) = delete;
  DeepThread& operator=(const DeepThread&) = delete;

  void start(std::function<void(const std::stop_token&)> body) {
    body_ = std::move(body);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, stack);
    const auto run = [](void* self) -> void* {
      auto* const thread = static_cast<DeepThread*>(self);
      thread->body_(thread->stop_.get_token());
      return nullptr;
    };
    running_ = pthread_create(&thread_, &attributes, run, this) == 0;
    // Where a process may not have so much, it has what others have.
    if (!running_) running_ = pthread_create(&thread_, nullptr, run, this) == 0;
    pthread_attr_destroy(&attributes);
  }
  void request_stop() noexcept { stop_.request_stop(); }
  [[nodiscard]] bool joinable() const noexcept { return running_; }
  void join() noexcept {
    if (running_) pthread_join(thread_, nullptr);
    running_ = false;
  }

 private:
  std::function<void(const std::stop_token&)> body_;
  std::stop_source stop_;
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace dlo::rabbitmq
