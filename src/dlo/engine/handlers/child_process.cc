#include "dlo/engine/handlers/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "dlo/engine/handlers/sigpipe_shield.h"

namespace dlo {

namespace {

using Clock = std::chrono::steady_clock;

/// How long to listen for last words of helpers that outlive the program (a shell's `2> >(sed)`).
constexpr Millis last_words{200};
/// Of a stream nobody closes, no more than this is read once the program has ended.
constexpr std::size_t drain_limit = 4 * 1024 * 1024;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  void close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

/// Ends above 2, so that arranging the child's 0, 1 and 2 can never run over them.
bool open_pipe(Pipe& pipe) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  pipe.read = Descriptor(ends[0]);
  pipe.write = Descriptor(ends[1]);
  for (Descriptor* end : {&pipe.read, &pipe.write}) {
    if (end->get() > 2) continue;
    Descriptor moved(::fcntl(end->get(), F_DUPFD_CLOEXEC, 3));
    if (!moved.is_open()) return false;
    *end = std::move(moved);
  }
  return true;
}

bool set_nonblocking(const Descriptor& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  return flags >= 0 && ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) == 0;
}

/// glibc 2.36 declares pidfd_open without C linkage, so its wrapper cannot be called from here.
int open_pidfd(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

/// File actions and attributes of posix_spawn, with their lifetimes.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// An errno, or zero.
  int prepare(const Pipe& in, const Pipe& out, const Pipe& err, const std::string& directory) {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    // An ignored or blocked signal would be inherited: the child starts like from a shell.
    for (const int error :
         {::posix_spawn_file_actions_adddup2(&actions_, in.read.get(), 0),
          ::posix_spawn_file_actions_adddup2(&actions_, out.write.get(), 1),
          ::posix_spawn_file_actions_adddup2(&actions_, err.write.get(), 2),
          // Ours are close-on-exec; those of libraries in this process may not be.
          ::posix_spawn_file_actions_addclosefrom_np(&actions_, 3),
          directory.empty() ? 0
                            : ::posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str()),
          ::posix_spawnattr_setpgroup(&attributes_, 0),
          ::posix_spawnattr_setsigmask(&attributes_, &none),
          ::posix_spawnattr_setsigdefault(&attributes_, &all),
          ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                       POSIX_SPAWN_SETSIGDEF)}) {
      if (error != 0) return error;
    }
    return 0;
  }

  int spawn(pid_t& pid, const std::vector<std::string>& argv,
            const std::vector<std::string>& environment) const {
    auto arguments = pointers(argv);
    auto variables = pointers(environment);
    return ::posix_spawnp(&pid, arguments.front(), &actions_, &attributes_, arguments.data(),
                          variables.data());
  }

 private:
  static std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> out;
    out.reserve(strings.size() + 1);
    for (const auto& text : strings) out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
  }
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// A started program, fed, listened to and waited for by one thread.
class Run {
 public:
  Run(const ChildRequest& request, ChildReport& report)
      : request_(request), report_(report), began_(Clock::now()) {}

  /// An errno if it could not be started.
  int start() {
    Pipe in;
    Pipe out;
    Pipe err;
    wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_.is_open() || !open_pipe(in) || !open_pipe(out) || !open_pipe(err)) return errno;
    if (!set_nonblocking(in.write) || !set_nonblocking(out.read) || !set_nonblocking(err.read)) {
      return errno;
    }
    if (request_.input.size() > 64 * 1024) {
      ::fcntl(in.write.get(), F_SETPIPE_SZ, 1024 * 1024);  // fewer turns; fine if refused
    }
    SpawnPlan plan;
    int error = plan.prepare(in, out, err, request_.directory);
    if (error == 0) error = plan.spawn(pid_, request_.argv, request_.environment);
    if (error != 0) return error;
    exit_ = Descriptor(open_pidfd(pid_));  // if refused, wait() looks every few ms
    in_ = std::move(in.write);
    out_ = std::move(out.read);
    err_ = std::move(err.read);
    return 0;
  }

  void finish() {
    const std::stop_callback on_stop(request_.stop, [this] {
      const std::uint64_t one = 1;
      static_cast<void>(!::write(wake_.get(), &one, sizeof one));
    });
    if (request_.timeout > Millis{0}) act_at_ = began_ + request_.timeout;
    while (!has_ended()) {
      wait();
      feed();
      listen(out_, report_.out);
      listen(err_, report_.err);
      mind_the_time();
    }
    in_.close();
    if (!succeeded_ && !stopping_) hear_last_words();
    if (!vanished_) ::kill(-pid_, SIGKILL);
    drain(out_, report_.out);
    drain(err_, report_.err);
    reap();
  }

 private:
  /// Looks without reaping: the zombie keeps the process id, and so the group's, reserved.
  bool has_ended() {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
      vanished_ = errno == ECHILD;  // the program we live in ignores SIGCHLD
      return vanished_;
    }
    succeeded_ = info.si_code == CLD_EXITED && info.si_status == 0;
    return info.si_pid == pid_;
  }

  void wait() {
    if (written_ == request_.input.size()) in_.close();
    std::array<pollfd, 5> watched{{{exit_.get(), POLLIN, 0},
                                   {stopping_ ? -1 : wake_.get(), POLLIN, 0},
                                   {in_.get(), POLLOUT, 0},
                                   {out_.get(), POLLIN, 0},
                                   {err_.get(), POLLIN, 0}}};
    Millis patience{exit_.is_open() ? 60'000 : 10};
    if (act_at_) {
      const auto left = std::chrono::ceil<Millis>(*act_at_ - Clock::now());
      patience = std::clamp(left, Millis{0}, patience);
    }
    ::poll(watched.data(), watched.size(), static_cast<int>(patience.count()));
  }

  void feed() {
    if (!in_.is_open()) return;
    const std::string_view rest = request_.input.substr(written_);
    const SigpipeShield shield;
    const ssize_t wrote = ::write(in_.get(), rest.data(), rest.size());
    if (wrote > 0) {
      written_ += static_cast<std::size_t>(wrote);
    } else if (wrote < 0 && errno != EAGAIN && errno != EINTR) {
      in_.close();  // it does not want the rest; its exit status says whether that is an error
      written_ = request_.input.size();
    }
  }

  /// Reads what is there once. False when there is nothing more for now or for ever.
  bool listen(Descriptor& from, Tail& into) {
    if (!from.is_open()) return false;
    const ssize_t got = ::read(from.get(), buffer_.data(), buffer_.size());
    if (got > 0) {
      into.add({buffer_.data(), static_cast<std::size_t>(got)});
      return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) from.close();
    return false;
  }

  void mind_the_time() {
    const auto now = Clock::now();
    if (!stopping_ && request_.stop.stop_requested()) {
      // The engine's clock may strike a little before ours: that is still the timeout.
      const bool late =
          request_.timeout > Millis{0} && now - began_ >= request_.timeout - request_.timeout / 10;
      interrupt(late ? ChildReport::Interrupted::timed_out : ChildReport::Interrupted::stopped,
                now);
    } else if (act_at_ && now >= *act_at_) {
      if (!stopping_) {
        interrupt(ChildReport::Interrupted::timed_out, now);
      } else {
        ::kill(-pid_, SIGKILL);
        act_at_.reset();
      }
    }
  }

  void interrupt(ChildReport::Interrupted why, Clock::time_point now) {
    stopping_ = true;
    report_.interrupted = why;
    ::kill(-pid_, SIGTERM);
    act_at_ = now + request_.grace;
  }

  void hear_last_words() {
    const auto until = Clock::now() + last_words;
    for (;;) {
      while (listen(err_, report_.err) || listen(out_, report_.out)) {
        if (Clock::now() >= until) return;
      }
      const auto left = std::chrono::ceil<Millis>(until - Clock::now());
      if ((!err_.is_open() && !out_.is_open()) || left <= Millis{0}) return;
      std::array<pollfd, 3> watched{
          {{err_.get(), POLLIN, 0}, {out_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
      ::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
      if (watched[2].revents != 0) return;
    }
  }

  void drain(Descriptor& from, Tail& into) {
    for (std::size_t turns = 0; turns < drain_limit / buffer_.size(); ++turns) {
      if (!listen(from, into)) return;
    }
  }

  void reap() {
    siginfo_t info{};
    int answer = 0;
    do {
      answer = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
    } while (answer != 0 && errno == EINTR);
    if (answer != 0) return;  // ECHILD: stays unknown
    report_.ended =
        info.si_code == CLD_EXITED ? ChildReport::Ended::exited : ChildReport::Ended::signalled;
    report_.number = info.si_status;
  }

  const ChildRequest& request_;
  ChildReport& report_;
  const Clock::time_point began_;
  pid_t pid_ = -1;
  Descriptor wake_;
  Descriptor exit_;
  Descriptor in_;
  Descriptor out_;
  Descriptor err_;
  std::size_t written_ = 0;
  bool stopping_ = false;
  bool succeeded_ = false;
  bool vanished_ = false;
  std::optional<Clock::time_point> act_at_;  // when the next signal is due
  std::array<char, 64 * 1024> buffer_{};
};

}  // namespace

ChildReport run_child(const ChildRequest& request) {
  ChildReport report{ChildReport::Ended::unknown, 0, ChildReport::Interrupted::no,
                     Tail(request.kept, request.result), Tail(request.kept)};
  Run run(request, report);
  if (const int error = run.start(); error != 0) {
    report.ended = ChildReport::Ended::not_started;
    report.number = error;
    return report;
  }
  run.finish();
  return report;
}

}  // namespace dlo
