#pragma once

#include <string>

#include "dlo/broker/rabbitmq/ack_window.h"
#include "dlo/broker/rabbitmq/hand.h"
#include "dlo/broker/rabbitmq/line.h"
#include "dlo/broker/rabbitmq/rabbit_options.h"

namespace dlo::rabbitmq {

/// Takes from a queue into a hand, and acknowledges. What is acknowledged was delivered on the
/// channel that is open now: anything else is left alone.
class Consumer final : public LineListener {
 public:
  /// `epoch` names the first channel; every later one has the next number.
  Consumer(const RabbitOptions& options, Hand& hand, std::uint32_t epoch);

  void start() { line_.start(); }
  void stop() noexcept;
  void cut() noexcept { line_.cut(); }

  /// Sent to the server before this returns.
  void ack_now(const Tags& tags);
  /// Many with one frame: within milliseconds, or as soon as nothing else is in hand.
  void ack_soon(const Tags& tags);
  /// Rejects them, to be requeued.
  void give_back(const Tags& tags);
  /// Waits for an attempt to connect that is under way. Answers what is wrong, if anything is.
  Result<void> wait();
  /// Everything the server had for us before this call is in the hand when it returns. Answers how
  /// many messages it keeps for others or for later.
  Result<std::uint64_t> sync();

  Result<void> opened(Session& session) override;
  void came(Incoming&& incoming) override;
  Result<void> method(const amqp_method_t& method) override;
  void lost(const Error& why) override;
  bool looked() override;

 private:
  Result<std::uint64_t> ask_for_queue(Session& session, bool only_look);
  Result<void> ack(Session& session, std::uint64_t tag, bool all_before);
  void mark_done(const Tags& tags);
  Result<void> ack_front(Session& session);
  void ack_all(Session& session);
  [[nodiscard]] std::string about() const { return "queue \"" + options_.queue + "\""; }

  const RabbitOptions options_;
  Hand& hand_;
  std::uint32_t epoch_;
  AckWindow window_;
  Line line_;  // last: its thread calls the rest
};

}  // namespace dlo::rabbitmq
