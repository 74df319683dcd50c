#include "dlo/engine/processor.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "dlo/engine/machine.h"

namespace dlo {

Processor::Processor(ProcessorParts parts, ProcessorOptions options)
    : machine_(std::make_unique<Machine>(std::move(parts), std::move(options))) {}

Processor::~Processor() {
  stop(Millis{0});
}

StopReport Processor::run(std::stop_token stop) {
  return machine_->run(std::move(stop));
}

StopReport Processor::stop(Millis grace) {
  return machine_->stop(grace);
}

std::size_t Processor::drain() {
  return machine_->drain();
}

Result<Processed> Processor::process_one(const MessagePtr& message, Counters counters) {
  return machine_->process_one(message, counters);
}

Result<Processed> Processor::route_failure(const MessagePtr& message, Failure failure,
                                           Counters counters) {
  return machine_->route_failure(message, std::move(failure), counters);
}

void Processor::look_again() {
  machine_->bell.ring();
}

Classification Processor::classify(const Failure& failure) const {
  return machine_->rules->classifier().classify(failure);
}

ProcessorStats Processor::stats() const {
  return machine_->stats();
}

}  // namespace dlo
