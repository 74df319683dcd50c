#include "dlo/cli/signals.h"

#include <cstdlib>
#include <ctime>
#include <stop_token>

namespace dlo::cli {
namespace {

void end_process_on_signal(const std::stop_token& stop) {
  constexpr timespec a_moment{0, 20'000'000};
  sigset_t ending{};
  sigemptyset(&ending);
  for (const int each : {SIGINT, SIGTERM}) sigaddset(&ending, each);
  while (!stop.stop_requested()) {
    const int number = sigtimedwait(&ending, nullptr, &a_moment);
    if (number > 0) std::_Exit(128 + number);
  }
}

}  // namespace

Signals::Signals() {
  sigemptyset(&set_);
  for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, each);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  opening_ = std::jthread([](const std::stop_token& stop) { end_process_on_signal(stop); });
}

void Signals::opened() {
  opening_.request_stop();
  if (opening_.joinable()) opening_.join();
}

int Signals::wait(std::chrono::seconds at_most) {
  const timespec time{static_cast<time_t>(at_most.count()), 0};
  const int number = sigtimedwait(&set_, nullptr, &time);
  return number < 0 ? 0 : number;
}

}  // namespace dlo::cli
