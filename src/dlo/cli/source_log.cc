#include "dlo/cli/source_log.h"

#include <chrono>
#include <utility>

namespace dlo::cli {

SourceLog::SourceLog(std::ostream& out)
    : out_(out), thread_([this](const std::stop_token& stop) { run(stop); }) {}

SourceLog::~SourceLog() {
  thread_.request_stop();
  thread_.join();
}

void SourceLog::write(std::string line) {
  if (line.empty()) return;
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(line));
  came_.notify_one();
}

void SourceLog::write_some(std::string line) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (now - second_ >= std::chrono::seconds{1}) {
    if (left_out_ > 0) {
      lines_.push_back("dlo: " + std::to_string(left_out_) + " more lines about messages.\n");
    }
    second_ = now;
    shown_ = left_out_ = 0;
  }
  if (++shown_ > lines_a_second) {
    ++left_out_;
    return;
  }
  lines_.push_back(std::move(line));
  came_.notify_one();
}

void SourceLog::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    came_.wait(lock, stop, [this] { return !lines_.empty(); });
    if (lines_.empty()) return;
    const std::string line = std::move(lines_.front());
    lines_.pop_front();
    lock.unlock();
    out_ << line << std::flush;
    lock.lock();
  }
}

}  // namespace dlo::cli
