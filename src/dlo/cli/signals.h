#pragma once

#include <chrono>
#include <csignal>
#include <thread>

namespace dlo::cli {

/// Blocks SIGINT, SIGTERM and SIGHUP everywhere and hands them to one thread: no work in a handler.
/// Until `opened` the first two end the process at once: nothing was acknowledged yet, and a
/// migration that is cut short begins again.
class Signals {
 public:
  Signals();
  void opened();
  /// Zero: none came in that time.
  int wait(std::chrono::seconds at_most);

 private:
  sigset_t set_{};
  std::jthread opening_;
};

}  // namespace dlo::cli
