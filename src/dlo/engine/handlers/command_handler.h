#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/engine/handler.h"

namespace dlo {

struct CommandOptions {
  std::vector<std::string> argv;    // argv[0]: a path, or a name looked up in PATH. No shell
  std::string directory;            // to run in; empty: ours
  bool inherit_environment = true;  // ours, except DLO_*, which may hold secrets
  std::vector<std::pair<std::string, std::string>> environment;  // added, over what is inherited
  Millis timeout{0};    // beside the one of the run; the shorter counts, zero does not
  Millis grace{5'000};  // from SIGTERM to SIGKILL
  std::size_t error_text_limit = 16 * 1024;
  bool reads_result = false;  // exit 0 with a result that says it failed is one (returned.h)
};

/// Runs a program per message: payload on stdin, everything else in DLO_* variables (see
/// README.md). Exit 0 is done; any other end is a failure with code "exit:N" or "signal:N" and
/// the last part of stderr as its text (of stdout, if stderr stayed empty). By convention 75
/// (EX_TEMPFAIL) is transient; the profile's rules decide. A run that was interrupted is a
/// failure even if the program then exits 0: nobody can tell whether the work was finished.
class CommandHandler final : public Handler {
 public:
  /// Refuses a command that cannot be run as things stand, with what to change.
  [[nodiscard]] static Result<std::unique_ptr<CommandHandler>> make(CommandOptions options);

  Outcome run(const Message& message, const RunContext& context) override;

 private:
  explicit CommandHandler(CommandOptions options);
  CommandOptions options_;
  std::vector<std::string> base_environment_;  // fixed when made: getenv is not for threads
};

}  // namespace dlo
