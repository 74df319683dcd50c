#include "dlo/engine/engine.h"

#include <thread>
#include <utility>

#include "dlo/core/spelling.h"

namespace dlo {

struct Engine::Line {
  std::string source;
  std::unique_ptr<OfficeSource> waiting;  // null: the source itself
  std::unique_ptr<Processor> processor;
};

Engine::Engine(Office& office, const Clock* clock)
    : office_(office),
      own_clock_(clock == nullptr ? std::make_unique<SystemClock>() : nullptr),
      clock_(clock == nullptr ? *own_clock_ : *clock) {}

Engine::~Engine() = default;

Result<void> Engine::handle(Broker& source, std::function<void(const Message&)> function,
                            HandleOptions options) {
  HandlerTable table;
  table.set_default(std::make_shared<FunctionHandler>(
                        [run = std::move(function)](const Message& message, const RunContext&) {
                          run(message);
                          return Outcome{};
                        }),
                    options.handler);
  return handle(source, std::move(table), std::move(options));
}

Result<void> Engine::handle(Broker& source, HandlerTable handlers, HandleOptions options) {
  if (!options.rules) {
    auto profile = find_profile(options.profile);
    if (!profile) return profile.error();
    auto rules = RuleBook::build(std::move(*profile));
    if (!rules) return rules.error();
    options.rules = std::make_shared<const RuleBook>(std::move(*rules));
  }
  if (options.source.empty() && options.rules->profile().placement == Placement::in_office) {
    return Error{Code::invalid_argument, "engine.handle",
                 "under profile " + in_quotes(options.rules->profile().name) +
                     " what failed waits in the office, where it is found by its source, and no "
                     "source is named; nothing was registered. Set `source` to what its messages "
                     "carry as their source."};
  }
  ProcessorParts parts{source,         office_,
                       options.rules,  std::move(handlers),
                       clock_,         options.validators,
                       options.events, options.listener,
                       nullptr};
  if (!options.source.empty()) {
    auto line = std::make_unique<Line>();
    line->source = options.source;
    line->waiting = std::make_unique<OfficeSource>(
        office_, OfficeSource::Options{ClaimFrom(options.source),
                                       {},
                                       [rules = options.rules](const DeadLetter&) { return rules; },
                                       nullptr});
    ProcessorParts waiting{*line->waiting, office_,        parts.rules,
                           parts.handlers, clock_,         parts.validators,
                           parts.events,   parts.listener, line->waiting.get()};
    line->processor = std::make_unique<Processor>(std::move(waiting), options.processor);
    lines_.push_back(std::move(line));
  }
  auto line = std::make_unique<Line>();
  line->source = options.source;
  line->processor = std::make_unique<Processor>(std::move(parts), options.processor);
  lines_.push_back(std::move(line));
  return {};
}

/// Asks all processors at once, as each of them may take its time, and adds up what they left.
StopReport Engine::ask_all(const std::function<StopReport(Processor&)>& question) {
  std::vector<std::thread> threads;
  std::vector<StopReport> reports(lines_.size());
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    threads.emplace_back(
        [this, i, &question, &reports] { reports[i] = question(*lines_[i]->processor); });
  }
  for (std::thread& thread : threads) thread.join();
  StopReport sum;
  for (const StopReport& one : reports) {
    sum.left_running += one.left_running;
    sum.left_unsettled += one.left_unsettled;
  }
  return sum;
}

StopReport Engine::run(std::stop_token stop) {
  return ask_all([&stop](Processor& processor) { return processor.run(stop); });
}

StopReport Engine::stop(Millis grace) {
  return ask_all([grace](Processor& processor) { return processor.stop(grace); });
}

std::size_t Engine::drain() {
  std::size_t total = 0;
  for (const auto& line : lines_) total += line->processor->drain();
  return total;
}

std::vector<Engine::SourceReport> Engine::stats() const {
  std::vector<SourceReport> out;
  for (const auto& line : lines_) {
    out.push_back({line->source, line->waiting != nullptr, line->processor->stats()});
  }
  return out;
}

}  // namespace dlo
