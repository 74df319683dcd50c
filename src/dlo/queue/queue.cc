#include "dlo/queue/queue.h"

#include <random>
#include <utility>

#include "dlo/core/profile.h"

namespace dlo {
namespace {

constexpr const char* expired_unrun = "it expired before anybody could run it";

std::uint64_t random_bits() {
  thread_local std::mt19937_64 generator(std::random_device{}());
  return generator();
}

}  // namespace

Job::Job(Queue& queue, Delivery delivery) noexcept
    : queue_(queue), delivery_(std::move(delivery)) {}

Job::~Job() {
  if (!settled_) (void)fail("the worker dropped it without saying how it went");
}

const std::string& Job::body() const noexcept {
  static const std::string none;
  return delivery_.message->payload ? *delivery_.message->payload : none;
}

Result<void> Job::settle(Ending ending) {
  settled_ = true;
  const Settlement settlement{delivery_.lease, std::move(ending)};
  const auto answers = queue_.queue_->settle({&settlement, 1}, queue_.clock_.instant());
  if (!answers) return answers.error();
  if (answers->front().settled == Settled::done) return {};
  return Error{Code::lease_lost, "queue.settle",
               "job \"" + delivery_.message->id +
                   "\" was held longer than its lease, and is or was somebody else's; nothing was "
                   "changed; call renew in time, or open the queue with a longer lease_for"};
}

Result<void> Job::complete() {
  return settle(Completed{});
}

Result<void> Job::release() {
  return settle(ReleasedUnrun{});
}

Result<void> Job::renew() {
  const auto now = queue_.clock_.instant();
  const auto live = queue_.queue_->renew({&delivery_.lease, 1}, now, queue_.settings_.lease_for);
  if (!live) return live.error();
  if (live->front()) return {};
  return Error{Code::lease_lost, "queue.renew",
               "the lease of job \"" + delivery_.message->id +
                   "\" is over; its work is somebody "
                   "else's now"};
}

Result<Job::Fate> Job::fail(const std::string& error) {
  Failure failure;
  failure.text = error;
  return fail(failure);
}

Result<Job::Fate> Job::fail(const Failure& failure) {
  const auto now = queue_.clock_.now();
  const auto decision = queue_.rules_.after_run({OutcomeKind::failed, failure}, delivery_.counters,
                                                now, random_bits(), delivery_.previous_delay);
  Fate fate;
  Ending ending = DeadLettered{.error = failure.text};
  if (const auto* retry = std::get_if<RetryAt>(&decision.verdict)) {
    fate.next_at = retry->when;
    Failed failed;
    failed.again_at = retry->when;
    failed.counters = decision.counters;
    failed.error = failure.text;
    failed.delay = retry->delay;
    ending = std::move(failed);
  } else {
    fate.dead = true;
    if (const auto* death = std::get_if<DeadLetterAs>(&decision.verdict)) {
      fate.reason = death->reason;
    }
  }
  const auto settled = settle(std::move(ending));
  if (!settled) return settled.error();
  return fate;
}

Queue::Queue(QueueSettings settings, RuleBook rules, const Clock* clock)
    : settings_(std::move(settings)),
      rules_(std::move(rules)),
      clock_(clock != nullptr ? *clock : own_clock_) {}

Queue::~Queue() = default;

Result<std::unique_ptr<Queue>> Queue::open(const std::string& directory,
                                           const QueueSettings& settings, const Clock* clock) {
  auto profile = find_profile(settings.profile);
  if (!profile) return profile.error();
  auto rules = RuleBook::build(std::move(*profile));
  if (!rules) return rules.error();
  std::unique_ptr<Queue> queue(new Queue(settings, std::move(*rules), clock));
  auto queues = EmbeddedQueues::open(directory, queue->clock_.now());
  if (!queues) return queues.error();
  queue->queues_ = std::move(*queues);
  auto options = settings.options;
  options.source = settings.name;
  auto declared = queue->queues_->declare(options, true);
  if (!declared) return declared.error();
  queue->queue_ = std::move(*declared);
  return queue;
}

Result<void> Queue::send(std::string body, const SendOptions& options) {
  auto message = std::make_shared<Message>();
  message->id = options.id;
  message->key = options.key;
  message->priority = options.priority;
  message->payload = std::move(body);
  Publication publication;
  publication.message = std::move(message);
  publication.delay = options.delay;
  publication.dedupe_id = options.dedupe_id;
  return publish({&publication, 1});
}

Result<void> Queue::send_all(std::span<const std::string> bodies) {
  std::vector<Publication> list(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    auto message = std::make_shared<Message>();
    message->payload = bodies[i];
    list[i].message = std::move(message);
  }
  return publish(list);
}

// A full queue may be full of what nobody wants any more.
Result<void> Queue::publish(std::span<const Publication> list) {
  auto sent = queue_->publish(list, clock_.instant());
  const bool no_room =
      !sent && (sent.error().code == Code::full || sent.error().code == Code::disk_full);
  if (no_room) {
    if (const auto buried = bury_expired(); !buried) return buried;
    sent = queue_->publish(list, clock_.instant());
  }
  return sent ? Result<void>{} : sent.error();
}

Result<void> Queue::bury_expired() {
  ReceiveRequest request;
  request.limit = 256;
  request.lease_for = settings_.lease_for;
  request.expired_only = true;
  while (true) {
    const auto got = queue_->receive(request, clock_.instant());
    if (!got) return got.error();
    if (got->empty()) return {};
    std::vector<Settlement> deaths;
    for (const Delivery& each : *got) {
      deaths.push_back({each.lease, DeadLettered{.error = expired_unrun}});
    }
    if (const auto settled = queue_->settle(deaths, clock_.instant()); !settled) {
      return settled.error();
    }
  }
}

Result<SourceStats> Queue::stats() {
  if (const auto buried = bury_expired(); !buried) return buried.error();
  return queue_->stats(clock_.instant());
}

Result<std::unique_ptr<Job>> Queue::receive(Millis wait) {
  while (true) {
    auto got = queue_->receive({1, settings_.lease_for, wait}, clock_.instant());
    if (!got) return got.error();
    if (got->empty()) return std::unique_ptr<Job>();
    auto job = accept(std::move(got->front()));
    if (!job || *job != nullptr) return job;
  }
}

/// Null if it must not run: it is in the dead set then.
Result<std::unique_ptr<Job>> Queue::accept(Delivery delivery) {
  auto decision = delivery.interrupted ? rules_.resume(delivery.counters, delivery.last_error)
                                       : rules_.before_run(delivery.counters, delivery.last_error);
  const auto* death = std::get_if<DeadLetterAs>(&decision.verdict);
  std::string error;
  if (death != nullptr) error = death->description.empty() ? death->reason : death->description;
  if (delivery.undecodable) error = delivery.undecodable->text;
  if (delivery.expired) error = expired_unrun;
  if (death != nullptr || delivery.undecodable || delivery.expired) {
    const Settlement settlement{delivery.lease, DeadLettered{.error = error}};
    const auto settled = queue_->settle({&settlement, 1}, clock_.instant());
    if (!settled) return settled.error();
    return std::unique_ptr<Job>();
  }
  const auto started = queue_->start({&delivery.lease, 1}, clock_.instant());
  if (!started) return started.error();
  if (!started->front()) return std::unique_ptr<Job>();  // its lease was over already
  delivery.counters = RuleBook::started(decision.counters);
  return std::unique_ptr<Job>(new Job(*this, std::move(delivery)));
}

}  // namespace dlo
