#include "dlo/broker/rabbitmq/rabbit_options.h"

#include <amqp.h>

#include "dlo/broker/rabbitmq/secure.h"

namespace dlo {
namespace {

constexpr const char* where = "rabbitmq.options";
constexpr std::size_t longest_name = 255;

Error refuse(std::string detail) {
  return {Code::invalid_argument, where, std::move(detail)};
}

Result<void> check_tls(const rabbitmq::Place& place, const RabbitTls& tls) {
  if (!place.secure) {
    if (tls == RabbitTls{}) return {};
    return refuse(
        "the address begins with amqp://, which is not encrypted, but there are settings for TLS "
        "beside it (ca_file, certificate_file, key_file, verify); write amqps:// or take them "
        "away");
  }
  if (!tls.key_file.empty() && tls.certificate_file.empty()) {
    return refuse("key_file is the key of certificate_file, which is missing");
  }
  return rabbitmq::check_files(tls);
}

}  // namespace

Result<void> check(const RabbitServer& server) {
  const auto place = rabbitmq::parse_address(server.address);
  if (!place) return place.error();
  if (auto tls = check_tls(*place, server.tls); !tls) return tls;
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
        "the address is not understood; write amqp://user:password@host:5672/vhost (amqps:// for "
        "TLS), with %2F for / and the like");
  }
  Place place;
  place.host = info.host;
  place.port = info.port;
  place.secure = info.ssl != 0;
  place.vhost = info.vhost;
  if (place.vhost.empty()) place.vhost = "/";  // an address that ends in / means no other
  place.user = info.user;
  place.password = info.password;
  place.shown = place.host + ":" + std::to_string(place.port) + ", vhost \"" + place.vhost + "\"";
  return place;
}

}  // namespace rabbitmq
}  // namespace dlo
