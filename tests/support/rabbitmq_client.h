#pragma once

#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

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
  ~RabbitClient() { amqp_connection_close(state_, AMQP_REPLY_SUCCESS); }
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
  void purge(const std::string& queue) {
    amqp_queue_purge(state_, 1, bytes(queue));
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
  /// The ids of all that is there, in their order; it is gone afterwards.
  std::vector<std::string> take_ids(const std::string& queue) {
    std::vector<std::string> ids;
    while (true) {
      const auto got = amqp_basic_get(state_, 1, bytes(queue), 1);
      check(got);
      if (got.reply.id != AMQP_BASIC_GET_OK_METHOD) return ids;
      amqp_message_t message{};
      check(amqp_read_message(state_, 1, &message, 0));
      const amqp_bytes_t id = message.properties.message_id;
      ids.emplace_back(static_cast<const char*>(id.bytes), id.len);
      amqp_destroy_message(&message);
      amqp_maybe_release_buffers(state_);
    }
  }
  /// A queue from which what is rejected goes to the queue `dead`.
  void declare_with_dead_letters(const std::string& queue, const std::string& dead) {
    amqp_table_entry_t entries[2];
    entries[0].key = amqp_cstring_bytes("x-dead-letter-exchange");
    entries[0].value.kind = AMQP_FIELD_KIND_UTF8;
    entries[0].value.value.bytes = amqp_empty_bytes;
    entries[1].key = amqp_cstring_bytes("x-dead-letter-routing-key");
    entries[1].value.kind = AMQP_FIELD_KIND_UTF8;
    entries[1].value.value.bytes = bytes(dead);
    declare(queue, {2, entries});
  }
  /// A consumer that wants none of the next `count`; they must be there.
  void reject(const std::string& queue, int count) {
    for (int i = 0; i < count; ++i) {
      const auto got = amqp_basic_get(state_, 1, bytes(queue), 0);
      check(got);
      if (got.reply.id != AMQP_BASIC_GET_OK_METHOD) throw std::runtime_error("nothing there");
      const auto tag = static_cast<const amqp_basic_get_ok_t*>(got.reply.decoded)->delivery_tag;
      amqp_message_t message{};
      check(amqp_read_message(state_, 1, &message, 0));
      amqp_destroy_message(&message);
      amqp_basic_reject(state_, 1, tag, 0);
      amqp_maybe_release_buffers(state_);
    }
  }
  /// The next message; it must be there.
  struct Taken {
    std::string id;
    std::string body;
  };
  Taken take(const std::string& queue) {
    const auto got = amqp_basic_get(state_, 1, bytes(queue), 1);
    check(got);
    if (got.reply.id != AMQP_BASIC_GET_OK_METHOD) throw std::runtime_error("nothing there");
    amqp_message_t message{};
    check(amqp_read_message(state_, 1, &message, 0));
    const auto text = [](amqp_bytes_t from) {
      return std::string(static_cast<const char*>(from.bytes), from.len);
    };
    Taken taken{text(message.properties.message_id), text(message.body)};
    amqp_destroy_message(&message);
    amqp_maybe_release_buffers(state_);
    return taken;
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

  struct Destroy {
    void operator()(amqp_connection_state_t state) const { amqp_destroy_connection(state); }
  };

  amqp_connection_state_t state_;
  std::unique_ptr<amqp_connection_state_t_, Destroy> kept_{state_};  // also if nobody answers
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
