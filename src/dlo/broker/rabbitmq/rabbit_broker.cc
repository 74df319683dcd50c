#include "dlo/broker/rabbitmq/rabbit_broker.h"

#include <random>

#include "dlo/broker/moments.h"
#include "dlo/broker/rabbitmq/consumer.h"
#include "dlo/broker/rabbitmq/hand.h"
#include "dlo/broker/rabbitmq/rabbit_publisher.h"

namespace dlo {

using rabbitmq::Carried;
using rabbitmq::Consumer;
using rabbitmq::Hand;
using rabbitmq::Retry;
using rabbitmq::Tags;

namespace {

constexpr std::size_t error_kept = 4096;  // of the text that travels; the office has all of it

/// The same with less said of its past: so that it fits into a frame.
RabbitPost shortened(RabbitPost post) {
  auto carried = std::make_shared<Carried>(*post.carried);
  if (carried->last_error.size() > error_kept) carried->last_error.resize(error_kept);
  carried->trail.clear();
  post.carried = std::move(carried);
  return post;
}

}  // namespace

class RabbitBroker::Parts {
 public:
  explicit Parts(const RabbitOptions& options)
      : options_(options), hand(options), consumer(options, hand, std::random_device{}()) {
    consumer.start();
  }

  /// The connection for publishing is made when something is published.
  RabbitPublisher& publisher() {
    const std::lock_guard lock(mutex_);
    if (!publisher_) {
      publisher_ = std::make_unique<RabbitPublisher>(
          options_.server, "dlo publisher to queue \"" + options_.queue + "\"");
    }
    return *publisher_;
  }
  void close() noexcept {
    hand.close();
    consumer.stop();
    const std::lock_guard lock(mutex_);
    if (publisher_) publisher_->close();
  }
  void cut() noexcept {
    consumer.cut();
    const std::lock_guard lock(mutex_);
    if (publisher_) publisher_->cut();
  }
  [[nodiscard]] RabbitPost post(MessagePtr message, std::shared_ptr<const Carried> carried) const {
    return {"", options_.queue, std::move(message), std::move(carried)};
  }
  void send_again(const std::vector<Retry>& retries, TimePoint now);

 private:
  const RabbitOptions options_;
  std::mutex mutex_;
  std::unique_ptr<RabbitPublisher> publisher_;

 public:
  Hand hand;
  Consumer consumer;  // last: its thread fills the hand
};

/// Copy first, delivery acknowledged second: a crash between the two repeats, under the same id.
void RabbitBroker::Parts::send_again(const std::vector<Retry>& retries, TimePoint now) {
  std::vector<RabbitPost> posts;
  posts.reserve(retries.size());
  for (const auto& retry : retries) posts.push_back(post(retry.message, retry.carried));
  auto outcomes = publisher().send(posts);
  Tags done;
  bool all = outcomes.has_value();
  for (std::size_t i = 0; i < retries.size(); ++i) {
    auto failure = outcomes ? (*outcomes)[i] : std::optional(outcomes.error());
    if (failure && failure->code == Code::invalid_argument) {
      const auto smaller = shortened(posts[i]);
      const auto second = publisher().send({&smaller, 1});
      failure = second ? (*second)[0] : std::optional(second.error());
    }
    if (failure) {
      hand.put_back(retries[i], *failure, now);
      all = false;
    } else if (done.tags.empty() || done.epoch == retries[i].epoch) {
      done.epoch = retries[i].epoch;
      done.tags.push_back(retries[i].tag);
    }
  }
  consumer.ack_now(done);
  if (all) hand.sent_again();
}

RabbitBroker::RabbitBroker(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

RabbitBroker::~RabbitBroker() {
  parts_->close();
}

Result<std::unique_ptr<RabbitBroker>> RabbitBroker::open(const RabbitOptions& options) {
  if (auto fine = check(options); !fine) return fine.error();
  return std::unique_ptr<RabbitBroker>(new RabbitBroker(std::make_unique<Parts>(options)));
}

Result<std::vector<Delivery>> RabbitBroker::receive(const ReceiveRequest& request, Instant now) {
  if (!parts_->hand.closed()) {
    if (auto up = parts_->consumer.wait(); !up) return up.error();
    const bool look = request.wait <= Millis{0} && request.limit > 0 && !request.expired_only;
    if (look) {
      if (auto seen = parts_->consumer.sync(); !seen) return seen.error();
    }
  }
  Tags dropped;
  auto received = parts_->hand.receive(request, now, dropped);
  parts_->consumer.ack_now(dropped);
  return received;
}

Result<std::vector<bool>> RabbitBroker::start(std::span<const LeaseToken> leases, Instant now) {
  return parts_->hand.start(leases, now);
}

Result<std::vector<bool>> RabbitBroker::renew(std::span<const LeaseToken> leases, Instant now,
                                              Millis lease_for) {
  return parts_->hand.renew(leases, now, lease_for);
}

Result<std::vector<SettleAnswer>> RabbitBroker::settle(std::span<const Settlement> settlements,
                                                       Instant now) {
  rabbitmq::Ended ended;
  auto answers = parts_->hand.settle(settlements, now, ended);
  // What went well first: what died is among it, and one frame may tell of both.
  parts_->consumer.ack_soon(ended.done);
  parts_->consumer.ack_now(ended.over);
  parts_->consumer.give_back(ended.back);
  if (!ended.retries.empty()) parts_->send_again(ended.retries, now.wall);
  return answers;
}

Result<std::vector<PublishAnswer>> RabbitBroker::publish(std::span<const Publication> messages,
                                                         Instant now) {
  constexpr const char* where = "rabbitmq.publish";
  std::vector<RabbitPost> posts;
  posts.reserve(messages.size());
  for (const auto& publication : messages) {
    if (publication.message == nullptr) {
      return Error{Code::invalid_argument, where,
                   "publication " + std::to_string(posts.size()) + " of " +
                       std::to_string(messages.size()) +
                       " holds no message; nothing of the batch was taken"};
    }
    auto carried = std::make_shared<Carried>();
    carried->counters = publication.counters;
    if (publication.delay > Millis{0}) carried->due = later(now.wall, publication.delay);
    auto message = publication.message;
    if (message->enqueued_at == TimePoint{}) {
      auto stamped = std::make_shared<Message>(*message);
      stamped->enqueued_at = now.wall;
      message = std::move(stamped);
    }
    posts.push_back(parts_->post(std::move(message), std::move(carried)));
  }
  if (parts_->hand.closed()) {
    return Error{Code::unavailable, where, "the source is closed; open it again to go on"};
  }
  if (posts.empty()) return std::vector<PublishAnswer>{};
  (void)parts_->consumer.wait();  // it makes the queue, where it is ours to make
  const auto outcomes = parts_->publisher().send(posts);
  if (!outcomes) return outcomes.error();
  for (const auto& outcome : *outcomes) {
    if (outcome) return *outcome;
  }
  return std::vector<PublishAnswer>(messages.size());
}

Result<SourceStats> RabbitBroker::stats(Instant now) {
  Result<std::uint64_t> waiting = std::uint64_t{0};
  if (!parts_->hand.closed()) waiting = parts_->consumer.sync();
  if (!waiting) return waiting.error();
  auto stats = parts_->hand.stats(now);
  if (!stats) return stats;
  stats->ready += *waiting;
  stats->published = stats->completed + stats->dead_lettered + stats->expired + stats->ready +
                     stats->delayed + stats->leased + stats->held;
  return stats;
}

void RabbitBroker::close() noexcept {
  parts_->close();
}

void RabbitBroker::cut() noexcept {
  parts_->cut();
}

}  // namespace dlo
