#pragma once

#include <amqp.h>
#include <memory>
#include <optional>
#include <string>

#include "dlo/broker/rabbitmq/rabbit_options.h"
#include "dlo/core/result.h"

namespace dlo::rabbitmq {

/// One connection with one channel, number 1. rabbitmq-c knows no threads: whoever uses a session
/// holds its owner's lock. After an error a session is of no more use.
class Session {
 public:
  static constexpr amqp_channel_t channel = 1;

  /// `purpose` is shown in the server's list of connections.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open(const RabbitServer& server,
                                                             const std::string& purpose);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] amqp_connection_state_t state() const noexcept { return state_; }
  [[nodiscard]] int socket() const noexcept { return amqp_get_sockfd(state_); }
  [[nodiscard]] std::size_t frame_max() const noexcept {
    return static_cast<std::size_t>(amqp_get_frame_max(state_));
  }

  /// The next frame that is here already; sends a heartbeat if one is due.
  [[nodiscard]] Result<std::optional<amqp_frame_t>> next_frame();
  /// What was read is no longer needed.
  void release() noexcept { amqp_maybe_release_buffers(state_); }

  /// What the server answered to the last request, e.g. "queue \"orders\"".
  [[nodiscard]] Result<void> answered(const std::string& about) const;
  /// What became of something that was sent and has no answer.
  [[nodiscard]] Result<void> sent(int status) const;
  /// channel.close or connection.close as an error.
  [[nodiscard]] Error closed_by_server(const amqp_method_t& method, const std::string& about) const;

  /// A polite end: everything sent before is read by the server.
  void close() noexcept;

 private:
  Session(amqp_connection_state_t state, Place place) : state_(state), place_(std::move(place)) {}
  [[nodiscard]] Result<void> connect(const RabbitServer& server, const std::string& purpose);
  [[nodiscard]] Result<amqp_socket_t*> new_socket(const RabbitServer& server) const;
  [[nodiscard]] Error not_reached(int status, const RabbitServer& server) const;
  [[nodiscard]] amqp_rpc_reply_t log_in(const RabbitServer& server, const std::string& purpose);
  [[nodiscard]] Error login_refused(const amqp_rpc_reply_t& reply) const;
  [[nodiscard]] Error broken(int status) const;

  amqp_connection_state_t state_;
  Place place_;
};

}  // namespace dlo::rabbitmq
