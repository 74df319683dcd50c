#pragma once

#include <chrono>
#include <cstdlib>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;  // NOLINT: POSIX

namespace dlo::testing {

/// How often a worker is killed: what DLO_CRASH_ROUNDS says, a thousand times in a soak, less often
/// where everything is slow.
inline int kills_of(int usual) {
  const char* asked = std::getenv("DLO_CRASH_ROUNDS");
  if (asked != nullptr) return std::atoi(asked);
  if (std::getenv("DLO_SOAK") != nullptr) return 1000;
  return DLO_PATIENCE > 1 ? usual / 4 : usual;
}

/// A process that is there to be killed.
class Killable {
 public:
  /// A program, and what it is told.
  explicit Killable(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (::posix_spawn(&pid_, words.front().c_str(), nullptr, nullptr, argv.data(), environ) != 0) {
      throw std::runtime_error("cannot start " + words.front());
    }
  }
  ~Killable() { kill_now(); }
  Killable(const Killable&) = delete;
  Killable& operator=(const Killable&) = delete;

  /// True if it ended by itself before the time was over.
  bool ends_within(std::chrono::milliseconds time) {
    const int watched = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    pollfd end{watched, POLLIN, 0};
    const bool ended = ::poll(&end, 1, static_cast<int>(time.count())) > 0;
    ::close(watched);
    if (!ended) return false;
    ::waitpid(pid_, &status_, 0);
    pid_ = 0;
    return true;
  }
  void kill_now() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    pid_ = 0;
  }
  [[nodiscard]] int exit_code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }

 private:
  pid_t pid_ = 0;
  int status_ = 0;
};

}  // namespace dlo::testing
