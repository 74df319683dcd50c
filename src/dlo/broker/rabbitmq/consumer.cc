#include "dlo/broker/rabbitmq/consumer.h"

#include <algorithm>
#include <array>

#include "dlo/broker/rabbitmq/table.h"

namespace dlo::rabbitmq {

Consumer::Consumer(const RabbitOptions& options, Hand& hand, std::uint32_t epoch)
    : options_(options),
      hand_(hand),
      epoch_(epoch),
      line_(options.server, "dlo consumer of " + about(), *this) {}

Result<std::uint64_t> Consumer::ask_for_queue(Session& session, bool only_look) {
  Table arguments;
  if (options_.kind == QueueKind::quorum) arguments.text("x-queue-type", "quorum");
  const auto* answer = amqp_queue_declare(session.state(), Session::channel,
                                          bytes_of(options_.queue), only_look ? 1 : 0, 1, 0, 0,
                                          only_look ? amqp_empty_table : arguments.get());
  if (auto fine = session.answered(about()); !fine) return fine.error();
  return answer->message_count;
}

Result<void> Consumer::opened(Session& session) {
  auto found = ask_for_queue(session, true);
  if (!found && found.error().code == Code::not_found && options_.kind != QueueKind::existing) {
    // The refusal has closed the channel.
    amqp_channel_close_ok_t seen{};
    amqp_send_method(session.state(), Session::channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &seen);
    amqp_channel_open(session.state(), Session::channel);
    if (auto again = session.answered("a channel"); !again) return again;
    found = ask_for_queue(session, false);
  }
  if (!found) return found.error();
  amqp_basic_qos(session.state(), Session::channel, 0, options_.prefetch, 0);
  if (auto fine = session.answered("prefetch"); !fine) return fine;
  unacked_.clear();
  hand_.began(++epoch_);
  amqp_basic_consume(session.state(), Session::channel, bytes_of(options_.queue), amqp_empty_bytes,
                     0, 0, 0, amqp_empty_table);
  return session.answered(about());
}

void Consumer::came(Incoming incoming) {
  unacked_.insert(incoming.tag);
  hand_.came(std::move(incoming));
}

Result<void> Consumer::method(const amqp_method_t& method) {
  if (method.id != AMQP_BASIC_CANCEL_METHOD) return {};
  return Error{Code::not_found, "rabbitmq.connection",
               "RabbitMQ has nothing more from " + about() +
                   ": it was deleted, or its node is gone; create it again"};
}

void Consumer::lost(const Error& why) {
  hand_.lost(why);
}

Result<void> Consumer::ack(Session& session, std::uint64_t tag, bool all_before) {
  return session.sent(amqp_basic_ack(session.state(), Session::channel, tag, all_before ? 1 : 0));
}

void Consumer::ack(Tags done) {
  if (done.tags.empty()) return;
  std::sort(done.tags.begin(), done.tags.end());
  const auto lock = line_.lock();
  Session* session = line_.session();
  if (session == nullptr || done.epoch != epoch_) return;  // the server has them back
  // Those at the front go with one frame: nobody needs what is before them any more.
  auto next = done.tags.begin();
  while (next != done.tags.end() && !unacked_.empty() && *next == *unacked_.begin()) {
    unacked_.erase(unacked_.begin());
    ++next;
  }
  Result<void> fine;
  if (next != done.tags.begin()) fine = ack(*session, *std::prev(next), true);
  for (; fine && next != done.tags.end(); ++next) {
    unacked_.erase(*next);
    fine = ack(*session, *next, false);
  }
  if (!fine) line_.drop(fine.error());
}

void Consumer::give_back(const Tags& tags) {
  if (tags.tags.empty()) return;
  const auto lock = line_.lock();
  Session* session = line_.session();
  if (session == nullptr || tags.epoch != epoch_) return;  // the server has them back
  Result<void> fine;
  for (const std::uint64_t tag : tags.tags) {
    unacked_.erase(tag);
    fine = session->sent(amqp_basic_reject(session->state(), Session::channel, tag, 1));
    if (!fine) return line_.drop(fine.error());
  }
}

Result<void> Consumer::wait() {
  auto lock = line_.lock();
  if (line_.wait_for_session(lock) == nullptr) return line_.why_down();
  return {};
}

Result<std::uint64_t> Consumer::sync() {
  auto lock = line_.lock();
  Session* session = line_.wait_for_session(lock);
  if (session == nullptr) return line_.why_down();
  // Asked on the channel that consumes: the answer comes after what was delivered before.
  auto waiting = ask_for_queue(*session, true);
  if (!waiting) {
    line_.drop(waiting.error());
    return waiting;
  }
  line_.pump();
  if (line_.session() == nullptr) return line_.why_down();
  return waiting;
}

}  // namespace dlo::rabbitmq
