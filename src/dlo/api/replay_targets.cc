#include "dlo/api/replay_targets.h"

#include <memory>
#include <span>
#include <utility>

#include "dlo/core/spelling.h"

namespace dlo::api {
namespace {

using FindExecutor = std::function<Result<ReplayTarget>(const std::string&)>;

FindExecutor executors_of(const RetrySettings& retries) {
  std::shared_ptr<const HandlerTable> table;
  if (retries.executors != nullptr) table = {retries.executors, &retries.executors->table()};
  return [table, timeout = retries.timeout,
          queues = retries.queues](const std::string& target) -> Result<ReplayTarget> {
    for (const auto& [name, queue] : queues) {
      if (executor_prefix.size() + name.size() != target.size() || !target.ends_with(name))
        continue;
      return Error{Code::invalid_argument, "api.jobs",
                   "Executor " + in_quotes(name) +
                       " sends to a queue, whose workers answer later. "
                       "Send to " +
                       in_quotes(queue) + " itself."};
    }
    return find_executor(table, target, timeout);
  };
}

Error no_broker(const std::string& target) {
  return {Code::not_found, "api.jobs",
          in_quotes(target) +
              " is on a RabbitMQ server, and this one knows none: `rabbitmq.address` in the "
              "configuration of a server (dlo serve) names it."};
}

}  // namespace

ReplayTargets replay_targets(QueueHall* hall, const RetrySettings& retries,
                             std::function<Result<Profile>(const DeadLetter&)> profile,
                             OutsideTargets outside) {
  const auto find = [hall](const std::string& name) -> Result<std::shared_ptr<QueueWindow>> {
    if (hall != nullptr) return hall->get(name);
    return Error{Code::not_found, "api.jobs", "This server has no queues to send anything to."};
  };
  const FindExecutor executor = executors_of(retries);
  return {[find, executor, outside](const std::string& name) -> Result<void> {
            if (outside.covers && outside.covers(name)) return outside.check(name);
            if (name.starts_with("amqp:")) return no_broker(name);
            if (is_executor(name)) {
              const auto found = executor(name);
              return found ? Result<void>{} : found.error();
            }
            const auto window = find(name);
            return window ? Result<void>{} : window.error();
          },
          [find](const std::string& name, std::span<const Publication> messages,
                 TimePoint now) -> Result<void> {
            const auto window = find(name);
            if (!window) return window.error();
            const Instant moment{now, (*window)->instant().steady};
            const auto sent = (*window)->queue().publish(messages, moment);
            if (!sent) return sent.error();
            (*window)->wake();
            return {};
          },
          std::move(profile),
          executor,
          {},
          std::move(outside)};
}

}  // namespace dlo::api
