#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>

namespace dlo::cli {

/// What happens to messages, on the error stream, for people. Whoever writes does not wait for the
/// stream: a thread does. A flood is cut: of `write_some` so many lines a second are shown, and how
/// many were not.
/// Threads  Any method from any thread.
class SourceLog {
 public:
  static constexpr std::uint64_t lines_a_second = 100;

  explicit SourceLog(std::ostream& out);
  ~SourceLog();  // when all is written
  SourceLog(const SourceLog&) = delete;
  SourceLog& operator=(const SourceLog&) = delete;

  void write(std::string line);
  void write_some(std::string line);

 private:
  void run(const std::stop_token& stop);

  std::ostream& out_;
  std::mutex mutex_;
  std::condition_variable_any came_;
  std::deque<std::string> lines_;
  std::chrono::steady_clock::time_point second_{};
  std::uint64_t shown_ = 0;
  std::uint64_t left_out_ = 0;
  std::jthread thread_;
};

}  // namespace dlo::cli
