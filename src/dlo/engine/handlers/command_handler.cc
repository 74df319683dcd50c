#include "dlo/engine/handlers/command_handler.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "dlo/engine/handlers/child_process.h"
#include "dlo/engine/handlers/command_environment.h"
#include "dlo/engine/handlers/failures.h"
#include "dlo/engine/handlers/returned.h"

extern char** environ;

namespace dlo {

namespace {

constexpr std::string_view where = "command.make";

bool is_program(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

bool is_directory(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// The program `name` means, as posix_spawnp will find it. Empty if there is none.
std::string find_program(const std::string& name, const std::string& directory) {
  if (name.find('/') != std::string::npos) {
    const std::string path =
        name.front() == '/' || directory.empty() ? name : directory + "/" + name;
    return is_program(path) ? name : std::string();
  }
  const char* search = std::getenv("PATH");
  std::string_view rest = search == nullptr ? "/bin:/usr/bin" : search;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':'), rest.size());
    const std::string path = std::string(rest.substr(0, end)) + "/" + name;
    if (end > 0 && is_program(path)) return path;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

bool is_variable_name(const std::string& name) {
  return !name.empty() && !has_nul(name) && name.find('=') == std::string::npos;
}

Error refuse(std::string detail) {
  return {Code::invalid_argument, std::string(where), std::move(detail)};
}

std::vector<std::string> base_environment(const CommandOptions& options) {
  std::vector<std::string> out;
  const auto is_replaced = [&options](std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('='));
    return name.starts_with("DLO_") || name == "TRACEPARENT" || name == "TRACESTATE" ||
           std::any_of(options.environment.begin(), options.environment.end(),
                       [name](const auto& added) { return added.first == name; });
  };
  if (options.inherit_environment && environ != nullptr) {
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (!is_replaced(*variable)) out.emplace_back(*variable);
    }
  }
  for (const auto& [name, value] : options.environment) out.push_back(name + "=" + value);
  return out;
}

Millis shorter(Millis a, Millis b) {
  if (a <= Millis{0}) return b;
  return b <= Millis{0} ? a : std::min(a, b);
}

std::string name_of_signal(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

/// What the program said, or how it ended if it said nothing.
std::string words_of(const ChildReport& report, const std::string& how) {
  if (!report.err.empty()) {
    if (auto text = report.err.text(); !text.empty()) return text;
  }
  std::string text = how + " and wrote nothing to stderr";
  const auto out = report.out.text();
  return out.empty() ? text : text + "; the last of its stdout:\n" + out;
}

Outcome interrupted(const ChildReport& report, const std::string& program, Millis timeout) {
  const bool late = report.interrupted == ChildReport::Interrupted::timed_out;
  std::string text = late ? program + " was ended because it took longer than " +
                                std::to_string(timeout.count()) + " ms (timeout)"
                          : program + " was ended because the engine is stopping";
  if (const auto words = report.err.text(); !words.empty()) text += "; its stderr:\n" + words;
  return failed(late ? failure_type::timeout : failure_type::stopped,
                std::string(late ? failure_code::timed_out : failure_code::stopped),
                std::move(text));
}

Outcome outcome_of(const ChildReport& report, const std::string& program, Millis timeout) {
  const auto number = std::to_string(report.number);
  if (report.interrupted != ChildReport::Interrupted::no) {
    return interrupted(report, program, timeout);
  }
  switch (report.ended) {
    case ChildReport::Ended::exited:
      if (report.number == 0) return {};
      return failed(failure_type::command_failed, "exit:" + number,
                    words_of(report, program + " exited with " + number));
    case ChildReport::Ended::signalled:
      return failed(failure_type::command_killed, "signal:" + number,
                    words_of(report, program + " was killed by " + name_of_signal(report.number)));
    case ChildReport::Ended::not_started: {
      const char* reason = ::strerrordesc_np(report.number);
      return failed(failure_type::command_missing, std::string(failure_code::not_started),
                    program + " could not be started: " +
                        (reason == nullptr ? "error " + number : std::string(reason)) +
                        ". The message was not touched; check the path, its permissions and the "
                        "limits on processes and open files");
    }
    case ChildReport::Ended::unknown:
      break;
  }
  return failed(failure_type::command_failed, std::string(failure_code::exit_unknown),
                program +
                    " ended, but its exit status is lost because this process ignores "
                    "SIGCHLD; set SIGCHLD back to its default");
}

}  // namespace

CommandHandler::CommandHandler(CommandOptions options)
    : options_(std::move(options)), base_environment_(base_environment(options_)) {}

Result<std::unique_ptr<CommandHandler>> CommandHandler::make(CommandOptions options) {
  if (options.argv.empty() || options.argv.front().empty()) {
    return refuse(
        "a command handler needs a command: give the program and its arguments as a list");
  }
  if (std::any_of(options.argv.begin(), options.argv.end(), has_nul) ||
      has_nul(options.directory)) {
    return refuse("the command " + options.argv.front() + " has a NUL byte in an argument");
  }
  for (const auto& [name, value] : options.environment) {
    if (is_variable_name(name) && !has_nul(value)) continue;
    return refuse("environment variable '" + name + "' of command " + options.argv.front() +
                  " has an empty name, an '=' in its name or a NUL byte");
  }
  if (!options.directory.empty() && !is_directory(options.directory)) {
    return refuse("the directory " + options.directory + " to run " + options.argv.front() +
                  " in does not exist or is no directory");
  }
  if (find_program(options.argv.front(), options.directory).empty()) {
    return refuse("the command " + options.argv.front() +
                  " was not found or is not executable; give a path, or a name that is in PATH");
  }
  if (options.grace < Millis{0} || options.timeout < Millis{0}) {
    return refuse("timeout and grace of command " + options.argv.front() + " must not be negative");
  }
  return std::unique_ptr<CommandHandler>(new CommandHandler(std::move(options)));
}

Outcome CommandHandler::run(const Message& message, const RunContext& context) {
  if (context.stop.stop_requested()) return {OutcomeKind::never_started, {}};
  auto environment = base_environment_;
  auto variables = message_environment(message, context);
  environment.insert(environment.end(), std::make_move_iterator(variables.begin()),
                     std::make_move_iterator(variables.end()));
  const Millis timeout = shorter(options_.timeout, context.timeout);
  const std::string_view input =
      message.payload ? std::string_view(*message.payload) : std::string_view();
  const auto report = run_child({options_.argv, environment, options_.directory, input, timeout,
                                 options_.grace, context.stop, options_.error_text_limit,
                                 options_.reads_result ? result_limit : 0});
  Outcome outcome = outcome_of(report, options_.argv.front(), timeout);
  if (outcome.kind != OutcomeKind::ok || !options_.reads_result) return outcome;
  return returned_by_program(clean_text(report.out.end()), report.out.was_cut())
      .value_or(std::move(outcome));
}

}  // namespace dlo
