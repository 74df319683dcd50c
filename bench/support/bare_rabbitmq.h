#pragma once

// The least that a program can do with a RabbitMQ queue: what the others are compared with.
#include <algorithm>
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/deaths.h"

#include "dlo/broker/rabbitmq/rabbit_publisher.h"

namespace dlo::bench {

constexpr std::uint16_t prefetch = 256;
constexpr std::size_t ack_every = 64;

struct BarePost {
  const std::string& body;
  const char* type;
};

/// A connection of rabbitmq-c. Whatever goes wrong ends the program.
class BareRabbit {
 public:
  explicit BareRabbit(const RabbitServer& server) : state_(amqp_new_connection()) {
    const auto place = must(rabbitmq::parse_address(server.address));
    if (amqp_socket_open(amqp_tcp_socket_new(state_), place.host.c_str(), place.port) != 0) {
      std::fprintf(stderr, "nobody listens at %s\n", place.shown.c_str());
      std::exit(1);
    }
    require(amqp_login(state_, place.vhost.c_str(), 0, 131072, 0, AMQP_SASL_METHOD_PLAIN,
                       place.user.c_str(), place.password.c_str()),
            "login");
    amqp_channel_open(state_, 1);
    answered("channel");
  }
  ~BareRabbit() {
    amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(state_);
  }
  BareRabbit(const BareRabbit&) = delete;
  BareRabbit& operator=(const BareRabbit&) = delete;

  void declare(const std::string& queue) {
    amqp_queue_declare(state_, 1, name(queue), 0, 1, 0, 0, amqp_empty_table);
    answered("queue");
  }
  void purge(const std::string& queue) {
    amqp_queue_purge(state_, 1, name(queue));
    answered("purge");
  }
  std::uint32_t ready(const std::string& queue) {
    const auto* told = amqp_queue_declare(state_, 1, name(queue), 1, 1, 0, 0, amqp_empty_table);
    answered("queue");
    return told->message_count;
  }
  /// Takes so many, one acknowledgement for 64; the bytes of their bodies.
  std::size_t consume(const std::string& queue, int messages) {
    amqp_basic_qos(state_, 1, 0, prefetch, 0);
    answered("prefetch");
    amqp_basic_consume(state_, 1, name(queue), amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    answered("consume");
    std::size_t bytes = 0;
    for (int i = 1; i <= messages; ++i) {
      amqp_maybe_release_buffers(state_);
      amqp_envelope_t envelope{};
      require(amqp_consume_message(state_, &envelope, nullptr, 0), "message");
      bytes += envelope.message.body.len;
      const bool due = i % static_cast<int>(ack_every) == 0 || i == messages;
      if (due) amqp_basic_ack(state_, 1, envelope.delivery_tag, 1);
      amqp_destroy_envelope(&envelope);
    }
    return bytes;
  }

  /// Sends so many, persistent, mandatory and confirmed, a thousand in flight; `rate` a second, or
  /// as fast as they are taken. `post(i)` is the i-th.
  template <typename Post>
  void publish(const std::string& queue, int messages, const Post& post, double rate) {
    constexpr std::uint64_t in_flight = 1'000;
    constexpr std::uint64_t at_once = 64;
    amqp_confirm_select(state_, 1);
    answered("confirms");
    const auto all = static_cast<std::uint64_t>(messages);
    const auto began = Steady::now();
    std::uint64_t sent = 0;
    for (std::uint64_t confirmed = 0; confirmed < all;) {
      const double due = rate > 0 ? since(began) * rate : static_cast<double>(all);
      const std::uint64_t until = std::min({all, confirmed + in_flight, sent + at_once,
                                            std::max(sent, static_cast<std::uint64_t>(due))});
      for (; sent < until; ++sent) put(queue, sent, post(static_cast<int>(sent)));
      const bool waits = sent == all || sent == confirmed + in_flight;
      const timeval longest = waits ? timeval{1, 0} : timeval{0, rate > 0 ? 1'000 : 0};
      read_confirms(confirmed, longest);
    }
  }

 private:
  void put(const std::string& queue, std::uint64_t number, const BarePost& post) {
    const std::string id = "m-" + std::to_string(number);
    amqp_basic_properties_t properties{};
    properties._flags =
        AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TYPE_FLAG;
    properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
    properties.message_id = name(id);
    properties.type = amqp_cstring_bytes(post.type);
    amqp_basic_publish(state_, 1, amqp_empty_bytes, name(queue), 1, 0, &properties,
                       name(post.body));
  }
  /// Those that are here, waiting for the first.
  void read_confirms(std::uint64_t& confirmed, timeval longest) {
    amqp_frame_t frame{};
    while (amqp_simple_wait_frame_noblock(state_, &frame, &longest) == AMQP_STATUS_OK) {
      longest = {0, 0};
      if (frame.frame_type != AMQP_FRAME_METHOD) continue;
      if (frame.payload.method.id != AMQP_BASIC_ACK_METHOD) continue;
      const auto* ack = static_cast<const amqp_basic_ack_t*>(frame.payload.method.decoded);
      confirmed = ack->multiple != 0 ? ack->delivery_tag : confirmed + 1;
      amqp_maybe_release_buffers(state_);
    }
  }
  static amqp_bytes_t name(const std::string& text) {
    return {text.size(), const_cast<char*>(text.data())};
  }
  static void require(const amqp_rpc_reply_t& reply, const char* what) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    std::fprintf(stderr, "RabbitMQ refuses: %s\n", what);
    std::exit(1);
  }
  void answered(const char* what) { require(amqp_get_rpc_reply(state_), what); }

  amqp_connection_state_t state_;
};

/// So many messages with ids of their own, confirmed. `made(i)` is the i-th.
template <typename Made>
void fill(const RabbitServer& server, const std::string& queue, int messages, const Made& made) {
  RabbitPublisher publisher(server);
  std::vector<RabbitPost> posts;
  for (int i = 0; i < messages; ++i) {
    std::shared_ptr<Message> message = made(i);
    message->id = "m-" + std::to_string(i);
    posts.push_back({"", queue, std::move(message), nullptr});
    if (posts.size() < 2'000 && i + 1 < messages) continue;
    for (const auto& each : must(publisher.send(posts))) {
      if (each) fail(*each);
    }
    posts.clear();
  }
}

}  // namespace dlo::bench
