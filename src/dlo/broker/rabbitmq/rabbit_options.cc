#include "dlo/broker/rabbitmq/rabbit_options.h"

#include <amqp.h>

namespace dlo {
namespace {

constexpr const char* where = "rabbitmq.options";
constexpr std::size_t longest_name = 255;

Error refuse(std::string detail) {
  return {Code::invalid_argument, where, std::move(detail)};
}

}  // namespace

Result<void> check(const RabbitServer& server) {
  if (auto place = rabbitmq::parse_address(server.address); !place) return place.error();
  if (server.heartbeat < std::chrono::seconds{1} || server.heartbeat > std::chrono::hours{1}) {
    return refuse(
        "heartbeat must be between 1 s and 1 h: without heartbeats a dead connection looks alive");
  }
  if (server.confirm_within < Millis{1}) {
    return refuse("confirm_within must be at least 1 ms: the server answers in its own time");
  }
  return {};
}

Result<void> check(const RabbitOptions& options) {
  if (auto server = check(options.server); !server) return server;
  if (options.queue.empty() || options.queue.size() > longest_name) {
    return refuse("queue must be a name of 1 to 255 bytes, as RabbitMQ has it");
  }
  if (options.ageing < Millis{0}) return refuse("ageing must not be negative");
  if (options.ttl && *options.ttl < Millis{1}) {
    return refuse("ttl must be at least 1 ms; leave it out for messages that never expire");
  }
  return {};
}

namespace rabbitmq {

Result<Place> parse_address(const std::string& address) {
  std::string text = address;  // the parser writes into it
  amqp_connection_info info{};
  amqp_default_connection_info(&info);
  if (text.size() != std::char_traits<char>::length(text.c_str()) ||
      amqp_parse_url(text.data(), &info) != AMQP_STATUS_OK) {
    return refuse(
        "the address is not understood; write amqp://user:password@host:5672/vhost, with %2F for / "
        "and the like");
  }
  if (info.ssl != 0) {
    return refuse("the address begins with amqps://: TLS towards RabbitMQ is not supported yet");
  }
  Place place;
  place.host = info.host;
  place.port = info.port;
  place.vhost = info.vhost;
  if (place.vhost.empty()) place.vhost = "/";  // an address that ends in / means no other
  place.user = info.user;
  place.password = info.password;
  place.shown = place.host + ":" + std::to_string(place.port) + ", vhost \"" + place.vhost + "\"";
  return place;
}

}  // namespace rabbitmq
}  // namespace dlo
