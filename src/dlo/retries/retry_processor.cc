#include "dlo/retries/retry_processor.h"

#include <algorithm>
#include <utility>

#include "dlo/retries/ended_leases.h"

namespace dlo {
namespace {

/// The timer says when to look, and a stop ends the wait.
constexpr Millis receive_wait = std::chrono::hours{1};
/// For records whose profile is no longer there.
constexpr const char* otherwise = "workflow+safe";

OfficeSource::Options source_options(const RetryProcessor::Parts& parts,
                                     const RetryOptions& options) {
  OfficeSource::Options source;
  source.without = options.without;
  source.timer = &parts.timer;
  source.rules = [&rules = parts.rules](const DeadLetter& record) {
    auto found = rules.find(record.profile, *record.message);
    if (!found) found = rules.find(otherwise, *record.message);
    return found ? *found : nullptr;
  };
  return source;
}

ProcessorOptions processor_options(const RetryOptions& options) {
  ProcessorOptions chosen;
  chosen.origin = options.origin;
  chosen.max_concurrency = options.at_once;
  // What is claimed ages, so the engine claims no more than keeps its threads busy for a moment.
  // Where runs are short that is many: one commit serves them all.
  chosen.max_in_flight = std::max<std::size_t>(options.at_once * 4, 1'024);
  chosen.receive_limit = 512;
  chosen.lease_for = options.lease_for;
  chosen.receive_wait = receive_wait;
  chosen.handler_timeout = options.timeout;
  chosen.grace = options.grace;
  chosen.seed = options.seed;
  return chosen;
}

}  // namespace

Result<std::unique_ptr<RetryProcessor>> RetryProcessor::make(const Parts& parts,
                                                             RetryOptions options) {
  auto rules = parts.rules.find(otherwise, Message{});
  if (!rules) return rules.error();
  return std::unique_ptr<RetryProcessor>(
      new RetryProcessor(parts, std::move(options), std::move(*rules)));
}

RetryProcessor::RetryProcessor(const Parts& parts, RetryOptions options,
                               std::shared_ptr<const RuleBook> rules)
    : options_(std::move(options)),
      office_(parts.office),
      source_(office_, source_options(parts, options_)),
      timer_(parts.timer),
      clock_(parts.clock) {
  processor_ = std::make_unique<Processor>(
      ProcessorParts{source_, office_, std::move(rules), parts.executors.table(), parts.clock,
                     Validators{}, options_.events, nullptr, &source_},
      processor_options(options_));
}

RetryProcessor::~RetryProcessor() {
  stop();
}

void RetryProcessor::start() {
  if (running_.exchange(true)) return;
  thread_ = std::thread([this] { processor_->run(std::stop_token{}); });
  rounds_ = std::make_unique<Rounds>(clock_);
  rounds_->start({taking_back_ended(office_, options_.take_back_after, &timer_)});
}

StopReport RetryProcessor::stop() {
  if (!running_.exchange(false)) return {};
  rounds_.reset();
  const StopReport report = processor_->stop(options_.grace);
  thread_.join();
  return report;
}

void RetryProcessor::circuit_closed() {
  source_.circuit_closed();
  processor_->look_again();
}

}  // namespace dlo
