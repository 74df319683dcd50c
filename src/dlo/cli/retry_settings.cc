#include "dlo/cli/retry_settings.h"

#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dlo/engine/handlers/command_handler.h"
#include "dlo/engine/handlers/http_handler.h"

namespace dlo::cli {
namespace {

/// A command line as words: no shell looks at it.
std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

}  // namespace

Result<api::RetrySettings> retry_settings(const Config& config) {
  api::RetrySettings retries;
  retries.enabled = config.flag("workflow.enabled");
  retries.processor = config.flag("workflow.retry_processor");
  retries.interval = config.duration("workflow.retry_interval");
  retries.at_once = config.count("workflow.at_once");
  retries.timeout = config.duration("workflow.timeout");
  retries.lease = config.duration("workflow.lease");
  retries.executors = std::make_shared<Executors>(config.text("workflow.adapter"));
  HandlerOptions guarded;
  guarded.breaker = BreakerPolicy{};
  for (const ExecutorSettings& each : config.executors) {
    const auto refused = [&](const Error& error) {
      return Error{error.code, error.where, "executors." + each.name + ": " + error.detail};
    };
    if (each.kind == "http") {
      HttpPushOptions push;
      push.url = each.target;
      push.timeout = retries.timeout;
      auto made = HttpHandler::make(std::move(push));
      if (!made) return refused(made.error());
      retries.executors->set(each.name, std::move(*made), guarded);
    } else if (each.kind == "command") {
      CommandOptions command;
      command.argv = words_of(each.target);
      auto made = CommandHandler::make(std::move(command));
      if (!made) return refused(made.error());
      retries.executors->set(each.name, std::move(*made), guarded);
    } else {
      retries.queues.emplace_back(each.name, each.target);
    }
  }
  return retries;
}

}  // namespace dlo::cli
