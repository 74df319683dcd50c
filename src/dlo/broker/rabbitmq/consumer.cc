#include "dlo/broker/rabbitmq/consumer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dlo/broker/rabbitmq/table.h"

namespace dlo::rabbitmq {
namespace {

constexpr std::chrono::milliseconds longest_wait{5};  // of an acknowledgement for others
constexpr std::size_t most_waiting = 64;

/// So many may wait that the server has others to deliver meanwhile.
std::size_t enough(std::uint16_t prefetch) {
  if (prefetch == 0) return most_waiting;
  return std::clamp<std::size_t>(prefetch / 4, 1, most_waiting);
}

/// A fast server fills a fifth of what may be in hand meanwhile, so that it never has to wait for
/// us; one that may send a few at a time is listened to all the time.
std::chrono::microseconds between_looks(std::uint16_t prefetch) {
  constexpr std::chrono::microseconds longest{1'000};
  if (prefetch == 0) return longest;
  return std::min<std::chrono::microseconds>(longest, prefetch * std::chrono::microseconds{4});
}

}  // namespace

Consumer::Consumer(const RabbitOptions& options, Hand& hand, std::uint32_t epoch)
    : options_(options),
      hand_(hand),
      epoch_(epoch),
      line_(options.server, "dlo consumer of " + about(), *this,
            between_looks(options.prefetch)) {}

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
  done_.clear();
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

void Consumer::ack(Tags done, bool at_once) {
  if (done.tags.empty()) return;
  const auto lock = line_.lock();
  Session* session = line_.session();
  if (session == nullptr || done.epoch != epoch_) return;  // the server has them back
  if (done_.empty()) first_done_ = std::chrono::steady_clock::now();
  done_.insert(done_.end(), done.tags.begin(), done.tags.end());
  const bool nothing_else = done_.size() == unacked_.size();
  if (at_once || nothing_else || done_.size() >= enough(options_.prefetch)) {
    send_acks(*session);
  } else {
    line_.look_soon();
  }
}

void Consumer::send_acks(Session& session) {
  auto sorted = std::exchange(done_, {});
  std::sort(sorted.begin(), sorted.end());
  // Those at the front go with one frame: nobody needs what is before them any more.
  auto next = sorted.begin();
  while (next != sorted.end() && !unacked_.empty() && *next == *unacked_.begin()) {
    unacked_.erase(unacked_.begin());
    ++next;
  }
  Result<void> fine;
  if (next != sorted.begin()) fine = ack(session, *std::prev(next), true);
  for (; fine && next != sorted.end(); ++next) {
    unacked_.erase(*next);
    fine = ack(session, *next, false);
  }
  if (!fine) line_.drop(fine.error());
}

bool Consumer::looked() {
  hand_.came_all();
  if (done_.empty()) return false;
  if (std::chrono::steady_clock::now() - first_done_ < longest_wait) return true;
  if (Session* session = line_.session(); session != nullptr) send_acks(*session);
  return false;
}

void Consumer::stop() noexcept {
  {
    const auto lock = line_.lock();
    Session* session = line_.session();
    if (session != nullptr && !done_.empty()) send_acks(*session);
  }
  line_.stop();
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
  if (!done_.empty()) send_acks(*session);
  session = line_.session();
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
