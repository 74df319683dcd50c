// Batch after batch: while one is written the next is read and drawn up.
#include <algorithm>
#include <future>
#include <utility>

#include "dlo/collector/batch.h"
#include "dlo/collector/collector.h"
#include "dlo/core/identity.h"

namespace dlo {
namespace {

constexpr Millis lease{60'000};
constexpr Millis look_for{500};
constexpr Millis first_rest{100};
constexpr Millis longest_rest{5'000};

/// What is to be written of it depends on what the office has, and so on the batch before.
bool asks_the_office(const Delivery& delivery) {
  const Message& message = *delivery.message;
  return delivery.may_be_repeat || !has_stable_identity(message) || lineage_of(message.headers);
}

}  // namespace

Result<std::vector<Delivery>> Collector::receive(Millis wait, const std::stop_token& stop) {
  ReceiveRequest request;
  request.limit = options_.batch;
  request.bytes = options_.batch_bytes;
  request.lease_for = lease;
  request.wait = wait;
  request.stop = stop;
  return broker_.receive(request, clock_.instant());
}

Collector::Batch Collector::batch_of(std::vector<Delivery> deliveries) {
  Batch batch;
  batch.all.reserve(deliveries.size());
  batch.leases.reserve(deliveries.size());
  for (Delivery& each : deliveries) {
    batch.leases.push_back(each.lease);
    batch.all.emplace_back(std::move(each));
  }
  return batch;
}

void Collector::run(const std::stop_token& stop) {
  Millis pause = first_rest;
  std::future<bool> writing;  // of the batch before; waits for it when it goes
  while (!stop.stop_requested()) {
    if (round(writing, stop)) {
      pause = first_rest;
    } else {
      rest(pause, stop);
      pause = std::min(pause * 2, longest_rest);
    }
  }
}

/// Two batches are in hand at the most, and they are written in the order in which they came.
bool Collector::round(std::future<bool>& writing, const std::stop_token& stop) {
  auto deliveries = receive(look_for, stop);
  if (!deliveries || deliveries->empty()) {
    const bool kept = wait_for(writing, {});
    return after_nothing(deliveries, stop) && kept;
  }
  Batch batch = batch_of(std::move(*deliveries));
  bool kept = true;
  const auto asks = [](const Kept& each) { return asks_the_office(each.found); };
  if (std::any_of(batch.all.begin(), batch.all.end(), asks)) kept = wait_for(writing, batch.leases);
  Batch::Drawn drawn{{}, clock_.now()};
  // What cannot be drawn up now is when it is written: there it is told, and tried again.
  if (draw_up(batch.all, drawn.at, drawn.changes)) batch.drawn = std::move(drawn);
  kept = wait_for(writing, batch.leases) && kept;
  writing = std::async(std::launch::async, [this, stop, next = std::move(batch)]() mutable {
    return keep(next, stop);
  });
  return kept;
}

/// `held` stay ours meanwhile, however long the office is down.
bool Collector::wait_for(std::future<bool>& writing, std::span<const LeaseToken> held) {
  if (!writing.valid()) return true;
  while (writing.wait_for(lease / 4) != std::future_status::ready) {
    if (!held.empty()) (void)broker_.renew(held, clock_.instant(), lease);
  }
  return writing.get();
}

bool Collector::round(Millis wait, const std::stop_token& stop) {
  auto deliveries = receive(wait, stop);
  if (!deliveries || deliveries->empty()) return after_nothing(deliveries, stop);
  Batch batch = batch_of(std::move(*deliveries));
  return keep(batch, stop);
}

bool Collector::after_nothing(const Result<std::vector<Delivery>>& received,
                              const std::stop_token& stop) {
  if (!received) {
    if (!stop.stop_requested()) became(CollectorState::broker_down, received.error().detail);
    return false;
  }
  works();
  take_marks_off();
  return true;
}

/// Nothing is given up: until the office takes it a batch stays unsettled, and no more than one
/// other is read.
bool Collector::keep(Batch& batch, const std::stop_token& stop) {
  Result<void> written = write_all(batch);
  Millis pause = first_rest;
  while (!written) {
    became(CollectorState::office_down, written.error().detail);
    if (!stop.stop_possible() || stop.stop_requested()) break;
    rest(pause, stop);
    pause = std::min(pause * 2, longest_rest);
    (void)broker_.renew(batch.leases, clock_.instant(), lease);
    written = write_all(batch);
  }
  settle(batch.all);
  return written.has_value();
}

}  // namespace dlo
