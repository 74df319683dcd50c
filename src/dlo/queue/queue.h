#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/core/decide.h"
#include "dlo/core/result.h"
#include "dlo/engine/clock.h"

namespace dlo {

class Queue;

/// One message in a worker's hands. Settle it; one that is dropped unsettled counts as failed.
class Job {
 public:
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] const std::string& body() const noexcept;
  [[nodiscard]] const Message& message() const noexcept { return *delivery_.message; }
  [[nodiscard]] std::uint32_t attempt() const noexcept { return delivery_.counters.attempt; }

  /// Done: gone from the queue for good when this returns ok. lease_lost: it took too long, and
  /// somebody else has it.
  Result<void> complete();

  /// What became of a job that failed, as the queue's profile decided.
  struct Fate {
    bool dead = false;
    std::string reason;                // of its death
    std::optional<TimePoint> next_at;  // of its next attempt
  };
  Result<Fate> fail(const std::string& error);
  Result<Fate> fail(const Failure& failure);

  /// Not done, not failed: the attempt is given back.
  Result<void> release();

  /// It stays ours for another `lease_for` of the queue.
  Result<void> renew();

 private:
  friend class Queue;
  Job(Queue& queue, Delivery delivery) noexcept;
  Result<void> settle(Ending ending);

  Queue& queue_;
  Delivery delivery_;
  bool settled_ = false;
};

struct QueueSettings {
  std::string name = "queue";
  std::string profile = "standard";  // decides about retries
  Millis lease_for{30'000};
  SourceOptions options;  // limits, order, dedupe; its `source` is `name`
};

struct SendOptions {
  std::string id;
  std::string key;  // messages of one key keep their order
  std::string dedupe_id;
  Millis delay{0};
  Priority priority = Priority::normal;
};

/// A durable queue by itself, with retries and a dead set of its own:
///
///   auto queue = must(dlo::Queue::open("./jobs"));
///   must(queue->send("resize cat.png"));
///   while (auto job = must(queue->receive(1s))) {
///     if (resize(job->body())) must(job->complete());
///     else must(job->fail("no such picture"));
///   }
///
/// With an office use EmbeddedQueues and an Engine: then dead letters live in the office.
/// Threads  Any method from any thread; a Job on one thread at a time.
class Queue {
 public:
  /// `clock` null: the machine's.
  [[nodiscard]] static Result<std::unique_ptr<Queue>> open(const std::string& directory,
                                                           const QueueSettings& settings = {},
                                                           const Clock* clock = nullptr);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Durable when it returns ok.
  Result<void> send(std::string body, const SendOptions& options = {});
  /// All of them or none, with one sync.
  Result<void> send_all(std::span<const std::string> bodies);

  /// The next one, or null if none came within `wait`. Its attempt is counted.
  Result<std::unique_ptr<Job>> receive(Millis wait = Millis{0});

  /// What has expired is in the dead set, or gone: nobody has to receive for that.
  Result<SourceStats> stats();
  [[nodiscard]] std::uint64_t dead() const { return queue_->dead(); }
  Result<std::vector<EmbeddedQueue::DeadMessage>> dead_letters(std::size_t limit) {
    return queue_->dead_letters(limit);
  }
  /// The whole dead set is tried again. Answers how many.
  Result<std::uint64_t> redrive() { return queue_->redrive(); }
  /// Syncs and seals.
  Result<void> close() { return queues_->close(); }

 private:
  friend class Job;
  Queue(QueueSettings settings, RuleBook rules, const Clock* clock);
  Result<std::unique_ptr<Job>> accept(Delivery delivery);
  Result<void> publish(std::span<const Publication> list);
  Result<void> bury_expired();

  QueueSettings settings_;
  RuleBook rules_;
  SystemClock own_clock_;
  const Clock& clock_;
  std::unique_ptr<EmbeddedQueues> queues_;
  std::unique_ptr<EmbeddedQueue> queue_;
};

}  // namespace dlo
