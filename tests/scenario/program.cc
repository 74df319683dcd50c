#include "scenario/program.h"

#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT: POSIX

namespace dlo::testing {
namespace {

using Steady = std::chrono::steady_clock;
constexpr auto patience = std::chrono::seconds(60);

/// `in` -1: nothing to read.
pid_t spawn(std::vector<std::string> words, int in, int out, int err) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (in < 0) {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(&actions, in, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + words.front());
  return pid;
}

std::vector<std::string> dlo_with(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {DLO_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return ends;
}

int wait_for(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// One read with a deadline. False: the other end is closed.
bool read_some(int fd, std::string& into, Steady::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Steady::now()).count();
  pollfd waiting{fd, POLLIN, 0};
  if (left <= 0 || ::poll(&waiting, 1, static_cast<int>(left)) == 0) {
    throw std::runtime_error("it took too long; so far: " + into);
  }
  char buffer[4096];
  const auto got = ::read(fd, buffer, sizeof buffer);
  if (got > 0) into.append(buffer, static_cast<std::size_t>(got));
  return got > 0;
}

/// `input` fits into a pipe.
Ended run_words(std::vector<std::string> words, const std::string& input) {
  const auto in = make_pipe();
  const auto out = make_pipe();
  const auto err = make_pipe();
  if (::write(in[1], input.data(), input.size()) < 0) throw std::runtime_error("no input");
  ::close(in[1]);
  const pid_t pid = spawn(std::move(words), in[0], out[1], err[1]);
  ::close(in[0]);
  ::close(out[1]);
  ::close(err[1]);
  Ended ended;
  const auto deadline = Steady::now() + patience;
  bool out_open = true;
  bool err_open = true;
  while (out_open || err_open) {
    pollfd both[2] = {{out_open ? out[0] : -1, POLLIN, 0}, {err_open ? err[0] : -1, POLLIN, 0}};
    ::poll(both, 2, 1000);
    if (both[0].revents != 0) out_open = read_some(out[0], ended.out, deadline);
    if (both[1].revents != 0) err_open = read_some(err[0], ended.err, deadline);
    if (Steady::now() > deadline) {
      ::kill(pid, SIGKILL);
      break;
    }
  }
  ::close(out[0]);
  ::close(err[0]);
  ended.code = wait_for(pid);
  return ended;
}

}  // namespace

Ended run_dlo(const std::vector<std::string>& arguments, const std::string& input) {
  return run_words(dlo_with(arguments), input);
}

Ended run_shell(const std::string& command, const std::string& directory) {
  const std::string program = DLO_PROGRAM;
  const std::string path = program.substr(0, program.rfind('/'));
  return run_words(
      {"/bin/sh", "-c", "PATH=" + path + ":$PATH; cd '" + directory + "' && " + command}, "");
}

Running::Running(const std::vector<std::string>& arguments) {
  const auto out = make_pipe();
  pid_ = spawn(dlo_with(arguments), -1, out[1], 2);
  ::close(out[1]);
  out_ = out[0];
}

Running::~Running() {
  if (pid_ > 0) stop(SIGKILL);
  ::close(out_);
}

std::string Running::read_until(const std::string& mark) {
  const auto deadline = Steady::now() + patience;
  while (text_.find(mark) == std::string::npos) {
    if (!read_some(out_, text_, deadline)) throw std::runtime_error("it ended; it said: " + text_);
  }
  return text_;
}

int Running::stop(int signal) {
  ::kill(pid_, signal);
  const int code = wait_for(pid_);
  pid_ = 0;
  return code;
}

std::string http_get(int port, const std::string& path) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
      const auto deadline = Steady::now() + patience;
      while (read_some(fd, answer, deadline)) {
      }
    }
  }
  ::close(fd);
  return answer;
}

std::uint16_t port_in(const std::string& text) {
  const std::string scheme = "://";
  const std::size_t found = text.find(scheme);
  if (found == std::string::npos) return 0;
  const std::size_t colon = text.find(':', found + scheme.size());
  if (colon == std::string::npos) return 0;
  return static_cast<std::uint16_t>(std::atoi(text.c_str() + colon + 1));
}

}  // namespace dlo::testing
