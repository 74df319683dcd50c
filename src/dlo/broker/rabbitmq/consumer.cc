#include "dlo/broker/rabbitmq/consumer.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "dlo/broker/rabbitmq/table.h"

namespace dlo::rabbitmq {
namespace {

constexpr std::chrono::milliseconds longest_wait{5};  // of an acknowledgement for company
/// ... and for one before it: what dies is written first, and then one frame tells of all.
constexpr std::chrono::milliseconds longest_behind{20};
constexpr std::size_t most_waiting = 64;

/// So many may wait that the server has others to deliver meanwhile.
std::size_t enough(std::uint16_t prefetch) {
  if (prefetch == 0) return most_waiting;
  return std::clamp<std::size_t>(prefetch / 4, 1, most_waiting);
}

/// So many that wait for one before them leave the server too little to deliver.
std::size_t too_many(std::uint16_t prefetch) {
  return prefetch == 0 ? SIZE_MAX : std::max<std::size_t>(prefetch - prefetch / 4, 1);
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
      line_(options.server, "dlo consumer of " + about(), *this, between_looks(options.prefetch)) {}

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
  window_.clear();
  hand_.began(++epoch_);
  amqp_basic_consume(session.state(), Session::channel, bytes_of(options_.queue), amqp_empty_bytes,
                     0, 0, 0, amqp_empty_table);
  return session.answered(about());
}

void Consumer::came(Incoming&& incoming) {
  window_.came(incoming.tag);
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

void Consumer::mark_done(const Tags& tags) {
  const auto now = std::chrono::steady_clock::now();
  for (const std::uint64_t tag : tags.tags) window_.done(tag, now);
}

void Consumer::ack_now(const Tags& tags) {
  if (tags.tags.empty()) return;
  const auto lock = line_.lock();
  Session* session = line_.session();
  if (session == nullptr || tags.epoch != epoch_) return;  // the server has them back
  mark_done(tags);
  Result<void> fine = ack_front(*session);
  for (const std::uint64_t tag : tags.tags) {
    if (!fine) return line_.drop(fine.error());
    if (!window_.is_done(tag)) continue;
    window_.gone(tag);
    fine = ack(*session, tag, false);
  }
  if (!fine) line_.drop(fine.error());
}

void Consumer::ack_soon(const Tags& tags) {
  if (tags.tags.empty()) return;
  const auto lock = line_.lock();
  Session* session = line_.session();
  if (session == nullptr || tags.epoch != epoch_) return;  // the server has them back
  mark_done(tags);
  if (window_.all_done() || window_.waiting() >= too_many(options_.prefetch)) {
    return ack_all(*session);
  }
  if (window_.in_front() >= enough(options_.prefetch)) {
    if (auto fine = ack_front(*session); !fine) return line_.drop(fine.error());
  }
  if (window_.waiting() > 0) line_.look_soon();
}

Result<void> Consumer::ack_front(Session& session) {
  const auto last = window_.take_front();
  if (!last) return {};
  return ack(session, *last, true);
}

void Consumer::ack_all(Session& session) {
  Result<void> fine = ack_front(session);
  for (const std::uint64_t tag : window_.take_rest()) {
    if (fine) fine = ack(session, tag, false);
  }
  if (!fine) line_.drop(fine.error());
}

bool Consumer::looked() {
  hand_.came_all();
  const auto oldest = window_.oldest();
  Session* const session = line_.session();
  if (!oldest || session == nullptr) return false;
  const auto waited = std::chrono::steady_clock::now() - *oldest;
  if (waited >= longest_behind) {
    ack_all(*session);
  } else if (waited >= longest_wait) {
    if (auto fine = ack_front(*session); !fine) line_.drop(fine.error());
  }
  return window_.waiting() > 0;
}

void Consumer::stop() noexcept {
  {
    const auto lock = line_.lock();
    Session* session = line_.session();
    if (session != nullptr) ack_all(*session);
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
    window_.gone(tag);
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
  ack_all(*session);
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
