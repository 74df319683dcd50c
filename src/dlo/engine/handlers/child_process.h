#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/time.h"
#include "dlo/engine/handlers/failures.h"

namespace dlo {

/// One run of a program, and how long to be patient with it.
struct ChildRequest {
  const std::vector<std::string>& argv;         // argv[0] is looked up in PATH; no shell
  const std::vector<std::string>& environment;  // "NAME=value", nothing else is passed on
  const std::string& directory;                 // empty: ours
  std::string_view input;                       // for its stdin
  Millis timeout{0};                            // zero: none
  Millis grace{5'000};                          // from SIGTERM to SIGKILL
  std::stop_token stop;
  std::size_t kept = 16 * 1024;  // of stdout and stderr each
  std::size_t result = 0;        // of stdout, where that is more
};

struct ChildReport {
  enum class Ended : std::uint8_t {
    exited,       // `number` is its exit status
    signalled,    // `number` is the signal
    not_started,  // `number` is errno
    unknown,      // it ended, but the process ignores SIGCHLD and the status went with it
  };
  enum class Interrupted : std::uint8_t { no, timed_out, stopped };

  Ended ended = Ended::unknown;
  int number = 0;
  Interrupted interrupted = Interrupted::no;
  Tail out;
  Tail err;
};

/// Runs a program to its end. Blocking; any number at once from any threads.
/// The program leads a process group of its own. When time is up or `stop` is set the group gets
/// SIGTERM and, after the grace time, SIGKILL; what the program leaves behind in its group when
/// it ends is killed too, so an attempt that is over does no more work. Input and both outputs
/// move at the same time, so no size of either can block the other. Leaves no zombie and no
/// descriptor behind and touches no signal disposition of this process.
[[nodiscard]] ChildReport run_child(const ChildRequest& request);

}  // namespace dlo
