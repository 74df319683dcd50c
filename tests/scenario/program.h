#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dlo::testing {

struct Ended {
  int code = -1;  // exit code, or -signal
  std::string out;
  std::string err;
};

/// The dlo program, run to its end with `input` on its standard input. Throws if that takes longer
/// than a minute.
Ended run_dlo(const std::vector<std::string>& arguments, const std::string& input = "");
/// The same for a command of the shell, which finds `dlo` in its path.
Ended run_shell(const std::string& command, const std::string& directory);

/// The dlo program, running until it is told to stop.
class Running {
 public:
  explicit Running(const std::vector<std::string>& arguments);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  /// Reads its output until `mark` appears; everything so far. Throws at its end or after a minute.
  std::string read_until(const std::string& mark);
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Sends a signal and waits for the end; the exit code, or -signal.
  int stop(int signal);

 private:
  pid_t pid_ = 0;
  int out_ = -1;
  std::string text_;
};

/// The port in what a server says when it begins to serve.
std::uint16_t port_in(const std::string& text);

/// One GET over a plain socket to 127.0.0.1; the whole answer.
std::string http_get(int port, const std::string& path);

}  // namespace dlo::testing
