#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>

namespace dlo {

/// Keeps SIGPIPE from this thread while it writes to somebody who may be gone, and takes back
/// the signal it caused itself. The disposition belongs to the whole process and stays.
class SigpipeShield {
 public:
  SigpipeShield() {
    ::sigemptyset(&sigpipe_);
    ::sigaddset(&sigpipe_, SIGPIPE);
    was_pending_ = is_pending();
    ::pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ~SigpipeShield() {
    if (!was_pending_ && is_pending()) {
      const timespec now{};
      while (::sigtimedwait(&sigpipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeShield(const SigpipeShield&) = delete;
  SigpipeShield& operator=(const SigpipeShield&) = delete;

 private:
  static bool is_pending() {
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGPIPE) == 1;
  }
  sigset_t sigpipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace dlo
