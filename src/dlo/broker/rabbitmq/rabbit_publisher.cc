#include "dlo/broker/rabbitmq/rabbit_publisher.h"

#include <amqp.h>
#include <map>

#include "dlo/broker/rabbitmq/line.h"
#include "dlo/broker/rabbitmq/parcel.h"

namespace dlo {

using rabbitmq::bytes_of;
using rabbitmq::Carried;
using rabbitmq::Incoming;
using rabbitmq::Line;
using rabbitmq::LineListener;
using rabbitmq::Outgoing;
using rabbitmq::Session;

namespace {

constexpr const char* where = "rabbitmq.publish";
const Carried nothing_carried;

std::string target_of(const RabbitPost& post) {
  if (post.exchange.empty()) return "queue \"" + post.routing_key + "\"";
  return "exchange \"" + post.exchange + "\" with routing key \"" + post.routing_key + "\"";
}

std::string number(std::size_t index, std::size_t count) {
  return "publication " + std::to_string(index) + " of " + std::to_string(count);
}

Error unroutable(const RabbitPost& post, const std::string& reply) {
  const bool queue = post.exchange.empty();
  return {Code::not_found, where,
          "RabbitMQ returned what was sent to " + target_of(post) + " (" + reply + "): " +
              (queue ? "there is no such queue; create it, or correct its name"
                     : "no queue is bound there; bind one, or correct the routing key")};
}

}  // namespace

/// What is under way on one line. Everything here is under the line's lock.
class RabbitPublisher::Desk final : public LineListener {
 public:
  Desk(RabbitServer server, std::string purpose)
      : server_(server), line_(std::move(server), std::move(purpose), *this) {
    line_.start();
  }

  Result<std::vector<std::optional<Error>>> send(std::span<const RabbitPost> posts);
  void close() noexcept {
    {
      const auto lock = line_.lock();
      closed_ = true;
    }
    line_.stop();
    const auto lock = line_.lock();
    give_up({Code::unavailable, where, "the publisher was closed before RabbitMQ confirmed"});
  }
  void cut() noexcept { line_.cut(); }

  Result<void> opened(Session& session) override;
  void came(Incoming&& incoming) override;
  Result<void> method(const amqp_method_t& method) override;
  void lost(const Error& why) override;

 private:
  using Outcomes = std::vector<std::optional<Error>>;
  struct Batch {
    Outcomes outcomes;
    std::size_t open = 0;
  };
  struct Pending {
    Batch* batch;
    std::size_t index;
    const RabbitPost* post;
  };
  using Waiting = std::map<std::uint64_t, Pending>;

  Result<void> ready(Line::Lock& lock);
  void put(Session& session, std::span<const RabbitPost> posts, std::size_t index, Batch& batch);
  void confirmed(std::uint64_t number, bool multiple, bool taken);
  void settle(Waiting::iterator each, std::optional<Error> outcome);
  void give_up(const Error& why);
  void forget(const Batch& batch);
  [[nodiscard]] std::string blocked_text() const {
    return "RabbitMQ takes no messages, its node is " + blocked_.value_or("in trouble") +
           "; free some, then it goes on by itself";
  }

  const RabbitServer server_;
  std::uint64_t sent_ = 0;  // on this channel; confirms count the same way
  Waiting waiting_;
  std::optional<std::string> blocked_;
  bool closed_ = false;
  Line line_;  // last: its thread calls the rest
};

Result<void> RabbitPublisher::Desk::opened(Session& session) {
  amqp_confirm_select(session.state(), Session::channel);
  sent_ = 0;
  blocked_.reset();
  return session.answered("confirms");
}

void RabbitPublisher::Desk::lost(const Error& why) {
  // Whatever the server had not confirmed may or may not be there, unless it said why not.
  Error doubt = why;
  if (why.code == Code::unavailable) {
    doubt = {Code::timed_out, where,
             why.detail + " before it confirmed; whether the message is there is not known"};
  }
  give_up(doubt);
}

void RabbitPublisher::Desk::give_up(const Error& why) {
  while (!waiting_.empty()) settle(waiting_.begin(), why);
}

void RabbitPublisher::Desk::settle(Waiting::iterator each, std::optional<Error> outcome) {
  Batch& batch = *each->second.batch;
  auto& kept = batch.outcomes[each->second.index];
  if (!kept) kept = std::move(outcome);  // a return comes before the confirm
  waiting_.erase(each);
  if (--batch.open == 0) line_.changed().notify_all();
}

void RabbitPublisher::Desk::confirmed(std::uint64_t number, bool multiple, bool taken) {
  auto each = multiple ? waiting_.begin() : waiting_.find(number);
  while (each != waiting_.end() && each->first <= number) {
    const auto next = std::next(each);
    std::optional<Error> outcome;
    if (!taken) {
      outcome = Error{Code::full, where,
                      "RabbitMQ did not take what was sent to " + target_of(*each->second.post) +
                          ": the queue is full (its overflow is reject-publish) or its node is in "
                          "trouble; make room and send it again"};
    }
    settle(each, std::move(outcome));
    each = multiple ? next : waiting_.end();
  }
}

Result<void> RabbitPublisher::Desk::method(const amqp_method_t& method) {
  if (method.id == AMQP_BASIC_ACK_METHOD) {
    const auto* ack = static_cast<const amqp_basic_ack_t*>(method.decoded);
    confirmed(ack->delivery_tag, ack->multiple != 0, true);
  } else if (method.id == AMQP_BASIC_NACK_METHOD) {
    const auto* nack = static_cast<const amqp_basic_nack_t*>(method.decoded);
    confirmed(nack->delivery_tag, nack->multiple != 0, false);
  } else if (method.id == AMQP_CONNECTION_BLOCKED_METHOD) {
    const auto* blocked = static_cast<const amqp_connection_blocked_t*>(method.decoded);
    blocked_ = std::string(rabbitmq::view(blocked->reason));
  } else if (method.id == AMQP_CONNECTION_UNBLOCKED_METHOD) {
    blocked_.reset();
  }
  return {};
}

/// Returns come in the order of publication and name no number: the first that looks the same and
/// is not marked yet is the one, and of twins it does not matter which.
void RabbitPublisher::Desk::came(Incoming&& incoming) {
  if (!incoming.returned) return;
  const Message& back = incoming.parcel.message;
  for (auto& [number, pending] : waiting_) {
    const RabbitPost& post = *pending.post;
    auto& outcome = pending.batch->outcomes[pending.index];
    if (outcome || post.exchange != incoming.exchange || post.routing_key != incoming.routing_key ||
        post.message->id != back.id ||
        post.message->payload.value_or("") != back.payload.value_or("")) {
      continue;
    }
    outcome = unroutable(post, incoming.reply);
    return;
  }
}

Result<void> RabbitPublisher::Desk::ready(Line::Lock& lock) {
  if (closed_) return Error{Code::unavailable, where, "the publisher is closed"};
  if (line_.wait_for_session(lock) == nullptr) return line_.why_down();
  if (blocked_) {
    return Error{Code::full, where, blocked_text()};
  }
  return {};
}

void RabbitPublisher::Desk::put(Session& session, std::span<const RabbitPost> posts,
                                std::size_t index, Batch& batch) {
  const RabbitPost& post = posts[index];
  Outgoing outgoing(*post.message, post.carried ? *post.carried : nothing_carried);
  if (auto fits = outgoing.fits(session.frame_max()); !fits) {
    batch.outcomes[index] = fits.error();
    batch.outcomes[index]->detail =
        number(index, posts.size()) + " was not sent: " + fits.error().detail;
    return;
  }
  waiting_.emplace(++sent_, Pending{&batch, index, &post});
  ++batch.open;
  const int status =
      amqp_basic_publish(session.state(), Session::channel, bytes_of(post.exchange),
                         bytes_of(post.routing_key), 1, 0, &outgoing.properties(), outgoing.body());
  if (auto sent = session.sent(status); !sent) line_.drop(sent.error());
}

void RabbitPublisher::Desk::forget(const Batch& batch) {
  std::erase_if(waiting_, [&](const auto& each) { return each.second.batch == &batch; });
}

Result<std::vector<std::optional<Error>>> RabbitPublisher::Desk::send(
    std::span<const RabbitPost> posts) {
  constexpr std::size_t read_every = 256;
  Batch batch;
  batch.outcomes.resize(posts.size());
  auto lock = line_.lock();
  if (auto fine = ready(lock); !fine) return fine.error();
  for (std::size_t i = 0; i < posts.size(); ++i) {
    Session* session = line_.session();
    if (session == nullptr) {
      batch.outcomes[i] = line_.why_down();
      continue;
    }
    put(*session, posts, i, batch);
    if (i % read_every == read_every - 1 && line_.session() != nullptr) line_.pump();
  }
  const auto until = std::chrono::steady_clock::now() + server_.confirm_within;
  const bool done = line_.changed().wait_until(lock, until, [&] { return batch.open == 0; });
  if (!done) {
    for (const auto& each : waiting_) {
      const Pending& pending = each.second;
      auto& outcome = batch.outcomes[pending.index];
      if (pending.batch != &batch || outcome) continue;
      outcome = Error{Code::timed_out, where,
                      (blocked_ ? blocked_text() + ". It" : std::string("RabbitMQ")) +
                          " did not confirm " + number(pending.index, posts.size()) + " to " +
                          target_of(*pending.post) + " in time; whether it is there is not known"};
    }
    forget(batch);
  }
  return std::move(batch.outcomes);
}

RabbitPublisher::RabbitPublisher(RabbitServer server, std::string purpose)
    : desk_(std::make_unique<Desk>(std::move(server), std::move(purpose))) {}

RabbitPublisher::~RabbitPublisher() {
  desk_->close();
}

Result<std::vector<std::optional<Error>>> RabbitPublisher::send(std::span<const RabbitPost> posts) {
  return desk_->send(posts);
}

void RabbitPublisher::close() noexcept {
  desk_->close();
}

void RabbitPublisher::cut() noexcept {
  desk_->cut();
}

}  // namespace dlo
