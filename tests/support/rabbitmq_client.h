#pragma once

#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <stdexcept>
#include <string>

#include "support/rabbitmq_server.h"

#include "dlo/broker/rabbitmq/rabbit_options.h"

namespace dlo::testing {

/// Somebody else's program: talks to the server as it likes. Whatever goes wrong is thrown.
class RabbitClient {
 public:
  explicit RabbitClient(const std::string& address = shared_rabbitmq())
      : state_(amqp_new_connection()) {
    const auto place = rabbitmq::parse_address(address);
    if (amqp_socket_open(amqp_tcp_socket_new(state_), place->host.c_str(), place->port) != 0) {
      throw std::runtime_error("no RabbitMQ at " + place->shown);
    }
    check(amqp_login(state_, place->vhost.c_str(), 0, 262144, 0, AMQP_SASL_METHOD_PLAIN,
                     place->user.c_str(), place->password.c_str()));
    amqp_channel_open(state_, 1);
    check(amqp_get_rpc_reply(state_));
  }
  ~RabbitClient() {
    amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(state_);
  }
  RabbitClient(const RabbitClient&) = delete;
  RabbitClient& operator=(const RabbitClient&) = delete;

  static amqp_bytes_t bytes(const std::string& text) {
    return {text.size(), const_cast<char*>(text.data())};
  }

  void declare(const std::string& queue, amqp_table_t arguments = amqp_empty_table) {
    amqp_queue_declare(state_, 1, bytes(queue), 0, 1, 0, 0, arguments);
    check(amqp_get_rpc_reply(state_));
  }
  void remove(const std::string& queue) {
    amqp_queue_delete(state_, 1, bytes(queue), 0, 0);
    check(amqp_get_rpc_reply(state_));
  }
  void publish(const std::string& queue, const amqp_basic_properties_t& properties,
               const std::string& body) {
    if (amqp_basic_publish(state_, 1, amqp_empty_bytes, bytes(queue), 0, 0, &properties,
                           bytes(body)) != 0) {
      throw std::runtime_error("cannot publish");
    }
  }
  /// The next message, acknowledged; waits for it.
  void consume(const std::string& queue, amqp_envelope_t* envelope) {
    amqp_basic_consume(state_, 1, bytes(queue), amqp_empty_bytes, 0, 1, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(state_));
    const timeval patience{60, 0};
    check(amqp_consume_message(state_, envelope, &patience, 0));
  }
  std::uint32_t ready(const std::string& queue) {
    const auto* answer = amqp_queue_declare(state_, 1, bytes(queue), 1, 1, 0, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(state_));
    return answer->message_count;
  }

 private:
  static void check(const amqp_rpc_reply_t& reply) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    throw std::runtime_error("RabbitMQ refused what a test asked of it");
  }

  amqp_connection_state_t state_;
};

/// A name for a queue; whoever made it, it is gone afterwards.
class TemporaryQueue {
 public:
  explicit TemporaryQueue(std::string address = shared_rabbitmq())
      : address_(std::move(address)), name_(fresh_queue()) {}
  ~TemporaryQueue() {
    try {
      RabbitClient(address_).remove(name_);
    } catch (const std::exception&) {  // the server is gone, and the queue with it
    }
  }
  TemporaryQueue(const TemporaryQueue&) = delete;
  TemporaryQueue& operator=(const TemporaryQueue&) = delete;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string address_;
  std::string name_;
};

}  // namespace dlo::testing
