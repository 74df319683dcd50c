#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/fault_file_system.h"
#include "support/must.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::testing {

using namespace std::chrono_literals;

/// Queues on a disk that can fail and lose its power, opened as often as a test likes.
class Shop {
 public:
  explicit Shop(SourceOptions options = jobs(), bool keeps_dead = false)
      : options_(std::move(options)), keeps_dead_(keeps_dead) {}

  static SourceOptions jobs() {
    SourceOptions options;
    options.source = "jobs";
    return options;
  }
  static EmbeddedOptions small_segments() {
    EmbeddedOptions options;
    options.journal.segment_size = 16U << 10U;
    options.journal.prepare_ahead = false;
    options.housekeeping = false;
    return options;
  }

  /// Empty, or why it could not be opened.
  std::optional<Error> try_open(TimePoint now = noon) {
    shut();
    auto opened = EmbeddedQueues::open(*disk, now, settings);
    if (!opened) return opened.error();
    queues = std::move(*opened);
    queue = must(queues->declare(options_, keeps_dead_));
    return std::nullopt;
  }
  void open(TimePoint now = noon) {
    if (const auto error = try_open(now)) throw std::runtime_error(error->detail);
  }
  /// Without a clean stop: from here on nothing more reaches the disk.
  void shut() {
    disk->set_fault([](FaultFileSystem::Op, const std::string&) { return Code::unavailable; });
    queue.reset();
    queues.reset();
    disk->set_fault({});
  }
  void close() {
    must(queues->close());
    queue.reset();
    queues.reset();
  }
  void cut_power(std::uint64_t seed) {
    shut();
    disk->power_cut(seed);
  }
  ~Shop() { shut(); }

  PublishAnswer publish(const std::string& id, TimePoint now = noon, std::size_t size = 100,
                        const std::string& key = "") {
    auto message = std::make_shared<Message>();
    message->id = id;
    message->key = key;
    message->payload = id + std::string(size, '.');
    Publication publication;
    publication.message = std::move(message);
    return must(queue->publish({&publication, 1}, now)).front();
  }
  std::vector<Delivery> take(std::size_t limit, TimePoint now = noon) {
    return must(queue->receive({limit, 30s, 0ms}, now));
  }
  std::vector<std::string> take_ids(std::size_t limit, TimePoint now = noon) {
    std::vector<std::string> ids;
    for (const auto& each : take(limit, now)) ids.push_back(each.message->id);
    return ids;
  }
  void end(const Delivery& delivery, Ending ending, TimePoint now = noon) {
    const Settlement settlement{delivery.lease, std::move(ending)};
    const auto answers = must(queue->settle({&settlement, 1}, now));
    if (answers.front().settled != Settled::done) throw std::runtime_error("the lease is lost");
  }
  static Failed failed(const Delivery& delivery, TimePoint now, Millis delay) {
    Failed ending;
    ending.counters = with_start(delivery.counters);
    ++ending.counters.failure;
    ending.again_at = now + delay;
    ending.delay = delay;
    ending.error = "no luck with " + delivery.message->id;
    return ending;
  }

  EmbeddedOptions settings = small_segments();
  std::unique_ptr<FaultFileSystem> disk = std::make_unique<FaultFileSystem>();
  std::unique_ptr<EmbeddedQueues> queues;
  std::unique_ptr<EmbeddedQueue> queue;

 private:
  SourceOptions options_;
  bool keeps_dead_;
};

}  // namespace dlo::testing
