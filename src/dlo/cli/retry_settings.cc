#include "dlo/cli/retry_settings.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dlo/engine/handlers/command_handler.h"
#include "dlo/engine/handlers/envelope_handler.h"
#include "dlo/engine/handlers/http_handler.h"

namespace dlo::cli {
namespace {

/// A command line as words: no shell looks at it.
std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

}  // namespace

Result<std::shared_ptr<Handler>> make_handler(const ExecutorSettings& executor, Millis timeout) {
  std::shared_ptr<Handler> handler;
  if (executor.kind == "http") {
    HttpPushOptions push;
    push.url = executor.target;
    push.reads_result = true;
    push.timeout = timeout;
    auto secrets = secrets_in(executor.secret_file);
    if (!secrets) return secrets.error();
    push.secrets = std::move(*secrets);
    auto made = HttpHandler::make(std::move(push));
    if (!made) return made.error();
    handler = std::move(*made);
  } else {
    CommandOptions command;
    command.argv = words_of(executor.target);
    command.reads_result = true;
    auto made = CommandHandler::make(std::move(command));
    if (!made) return made.error();
    handler = std::move(*made);
  }
  if (executor.envelope) handler = std::make_shared<EnvelopeHandler>(std::move(handler));
  return handler;
}

namespace {

Error named(const ExecutorSettings& executor, const Error& error) {
  return {error.code, error.where, "executors." + executor.name + ": " + error.detail};
}

}  // namespace

Result<std::vector<std::string>> secrets_in(const std::string& path) {
  std::vector<std::string> secrets;
  if (path.empty()) return secrets;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) secrets.push_back(std::move(line));
  }
  if (!secrets.empty() && !file.bad()) return secrets;
  return Error{Code::invalid_argument, "cli.executors",
               "secret_file \"" + path +
                   "\" cannot be read or holds no secret. It has one on each line, of 16 bytes or "
                   "more, and must be readable by this server."};
}

std::vector<ConfigProblem> executor_problems(const Config& config) {
  std::vector<ConfigProblem> problems;
  for (const ExecutorSettings& each : config.executors) {
    if (each.kind == "queue") continue;
    const auto made = make_handler(each, Millis{0});
    if (made) continue;
    const auto section = config.sections.find("executors." + each.name);
    problems.push_back(
        {section == config.sections.end() ? 0 : section->second, named(each, made.error()).detail});
  }
  return problems;
}

Result<api::RetrySettings> retry_settings(const Config& config) {
  api::RetrySettings retries;
  retries.enabled = config.flag("workflow.enabled");
  retries.processor = config.flag("workflow.retry_processor");
  retries.interval = config.duration("workflow.retry_interval");
  retries.at_once = config.count("workflow.at_once");
  retries.timeout = config.duration("workflow.timeout");
  retries.depends_timeout = config.duration("workflow.depends_timeout");
  retries.lease = config.duration("workflow.lease");
  retries.executors = std::make_shared<Executors>(config.text("workflow.adapter"));
  for (const ExecutorSettings& each : config.executors) {
    if (each.kind == "queue") {
      retries.queues.emplace_back(each.name, each.target);
      continue;
    }
    HandlerOptions guarded;
    guarded.breaker = each.circuit;
    guarded.timeout = each.timeout;
    guarded.at_once = each.at_once;
    auto made = make_handler(each, each.timeout.value_or(retries.timeout));
    if (!made) return named(each, made.error());
    retries.executors->set(each.name, std::move(*made), guarded);
  }
  return retries;
}

}  // namespace dlo::cli
