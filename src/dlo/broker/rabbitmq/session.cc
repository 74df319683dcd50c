#include "dlo/broker/rabbitmq/session.h"

#include <amqp_tcp_socket.h>
#include <array>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "dlo/broker/rabbitmq/secure.h"
#include "dlo/broker/rabbitmq/table.h"

namespace dlo::rabbitmq {
namespace {

constexpr const char* where = "rabbitmq.connection";
constexpr timeval to_connect{10, 0};  // as long as the server itself waits for a greeting
constexpr timeval to_answer{30, 0};
constexpr int largest_frame = 1 << 20;  // the server says how much of it we get

amqp_table_entry_t entry(const char* name, const char* text) {
  amqp_field_value_t value{};
  value.kind = AMQP_FIELD_KIND_UTF8;
  value.value.bytes = amqp_cstring_bytes(text);
  return {amqp_cstring_bytes(name), value};
}

amqp_table_entry_t able(const char* name) {
  amqp_field_value_t value{};
  value.kind = AMQP_FIELD_KIND_BOOLEAN;
  value.value.boolean = 1;
  return {amqp_cstring_bytes(name), value};
}

struct Refusal {
  int code = 0;
  std::string text;
};

Refusal refusal_of(const amqp_method_t& method) {
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto* close = static_cast<const amqp_connection_close_t*>(method.decoded);
    return {close->reply_code, std::string(view(close->reply_text))};
  }
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
    const auto* close = static_cast<const amqp_channel_close_t*>(method.decoded);
    return {close->reply_code, std::string(view(close->reply_text))};
  }
  return {0, "an answer nobody asked for"};
}

Code code_of(int reply) noexcept {
  switch (reply) {
    case AMQP_ACCESS_REFUSED:
    case AMQP_NOT_ALLOWED:
      return Code::refused;
    case AMQP_NOT_FOUND:
      return Code::not_found;
    case AMQP_RESOURCE_LOCKED:
    case AMQP_PRECONDITION_FAILED:
      return Code::conflict;
    case AMQP_CONTENT_TOO_LARGE:
      return Code::invalid_argument;
    case AMQP_RESOURCE_ERROR:
      return Code::full;
    default:
      return Code::unavailable;
  }
}

const char* advice(const Refusal& refusal) noexcept {
  if (refusal.code == AMQP_PRECONDITION_FAILED &&
      refusal.text.find("message size") != std::string::npos) {
    return "it is too large for that server: make it smaller, or allow more there "
           "(max_message_size)";
  }
  switch (refusal.code) {
    case AMQP_ACCESS_REFUSED:
      return "give the user the right to it (rabbitmqctl set_permissions)";
    case AMQP_NOT_FOUND:
      return "create it, or correct its name";
    case AMQP_PRECONDITION_FAILED:
      return "it is there with other properties; use it as it is (kind existing) or rename it";
    case AMQP_RESOURCE_LOCKED:
      return "another connection has it for itself";
    default:
      return "it is tried again";
  }
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const RabbitServer& server,
                                               const std::string& purpose) {
  auto place = parse_address(server.address);
  if (!place) return place.error();
  std::unique_ptr<Session> session(new Session(amqp_new_connection(), std::move(*place)));
  if (auto connected = session->connect(server, purpose); !connected) return connected.error();
  return session;
}

Session::~Session() {
  if (state_ != nullptr) amqp_destroy_connection(state_);
}

Result<amqp_socket_t*> Session::new_socket(const RabbitServer& server) const {
  if (state_ != nullptr && place_.secure) return secure_socket(state_, place_, server.tls);
  amqp_socket_t* socket = state_ == nullptr ? nullptr : amqp_tcp_socket_new(state_);
  if (socket == nullptr) return Error{Code::unavailable, where, "there is no memory left"};
  return socket;
}

Error Session::not_reached(int status, const RabbitServer& server) const {
  const std::string at = "RabbitMQ cannot be reached at " + place_.shown + " (";
  if (place_.secure) {
    if (const auto why = why_not_secure(status, server.tls); !why.empty()) {
      return {Code::unavailable, where, at + "TLS): " + why};
    }
  }
  return {Code::unavailable, where,
          at + amqp_error_string2(status) +
              "); see whether it runs there and whether the address is right"};
}

Result<void> Session::connect(const RabbitServer& server, const std::string& purpose) {
  const auto socket = new_socket(server);
  if (!socket) return socket.error();
  amqp_set_handshake_timeout(state_, &to_connect);
  amqp_set_rpc_timeout(state_, &to_answer);
  const int opened =
      amqp_socket_open_noblock(*socket, place_.host.c_str(), place_.port, &to_connect);
  if (opened != AMQP_STATUS_OK) return not_reached(opened, server);
  // A server that stops reading (it has an alarm, or is frozen) must not hold whoever sends.
  const auto patience = static_cast<unsigned>(server.confirm_within.count());
  (void)::setsockopt(this->socket(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
  const auto reply = log_in(server, purpose);
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) return login_refused(reply);
  amqp_channel_open(state_, channel);
  return answered("a channel");
}

amqp_rpc_reply_t Session::log_in(const RabbitServer& server, const std::string& purpose) {
  // The server tells of deleted queues and of alarms only those who say that they listen.
  std::array<amqp_table_entry_t, 4> abilities = {able("consumer_cancel_notify"),
                                                 able("connection.blocked"), able("basic.nack"),
                                                 able("publisher_confirms")};
  amqp_field_value_t capabilities{};
  capabilities.kind = AMQP_FIELD_KIND_TABLE;
  capabilities.value.table = {static_cast<int>(abilities.size()), abilities.data()};
  std::array<amqp_table_entry_t, 3> about = {entry("product", "dlo"),
                                             entry("connection_name", purpose.c_str()),
                                             {amqp_cstring_bytes("capabilities"), capabilities}};
  const amqp_table_t properties{static_cast<int>(about.size()), about.data()};
  return amqp_login_with_properties(
      state_, place_.vhost.c_str(), 0, largest_frame, static_cast<int>(server.heartbeat.count()),
      &properties, AMQP_SASL_METHOD_PLAIN, place_.user.c_str(), place_.password.c_str());
}

Error Session::login_refused(const amqp_rpc_reply_t& reply) const {
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION) {
    const auto refusal = refusal_of(reply.reply);
    if (refusal.code == AMQP_ACCESS_REFUSED) {
      return {Code::refused, where,
              "RabbitMQ at " + place_.shown + " does not let user \"" + place_.user +
                  "\" in; correct user name and password in the address, or set them there "
                  "(rabbitmqctl change_password, set_permissions)"};
    }
    if (refusal.code == AMQP_NOT_ALLOWED) {
      return {Code::refused, where,
              "RabbitMQ at " + place_.shown + " refuses: " + refusal.text +
                  "; correct the vhost at the end of the address, or add it there "
                  "(rabbitmqctl add_vhost, set_permissions)"};
    }
    return {code_of(refusal.code), where,
            "RabbitMQ at " + place_.shown + " refuses: " + refusal.text};
  }
  return {Code::unavailable, where,
          "RabbitMQ at " + place_.shown + " did not finish its greeting (" +
              amqp_error_string2(reply.library_error) + "); " +
              (place_.secure ? "it may want to see a certificate within TLS "
                               "(rabbitmq.certificate_file) that it trusts"
                             : "if that port speaks TLS, write amqps://")};
}

Error Session::broken(int status) const {
  return {Code::unavailable, where,
          "the connection to RabbitMQ at " + place_.shown + " is lost (" +
              amqp_error_string2(status) + ")"};
}

Error Session::closed_by_server(const amqp_method_t& method, const std::string& about) const {
  const auto refusal = refusal_of(method);
  return {code_of(refusal.code), where,
          "RabbitMQ at " + place_.shown + " refuses " + about + ": " + refusal.text + "; " +
              advice(refusal)};
}

Result<void> Session::answered(const std::string& about) const {
  const auto reply = amqp_get_rpc_reply(state_);
  switch (reply.reply_type) {
    case AMQP_RESPONSE_NORMAL:
      return {};
    case AMQP_RESPONSE_SERVER_EXCEPTION:
      return closed_by_server(reply.reply, about);
    case AMQP_RESPONSE_NONE:
    case AMQP_RESPONSE_LIBRARY_EXCEPTION:
      break;
  }
  return broken(reply.library_error);
}

Result<void> Session::sent(int status) const {
  if (status == AMQP_STATUS_OK) return {};
  return broken(status);
}

Result<std::optional<amqp_frame_t>> Session::next_frame() {
  amqp_frame_t frame{};
  constexpr timeval at_once{0, 0};
  const int status = amqp_simple_wait_frame_noblock(state_, &frame, &at_once);
  if (status == AMQP_STATUS_OK) return std::optional(frame);
  if (status == AMQP_STATUS_TIMEOUT) return std::optional<amqp_frame_t>();
  return broken(status);
}

void Session::close() noexcept {
  constexpr timeval not_long{5, 0};
  amqp_set_rpc_timeout(state_, &not_long);
  (void)amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
}

}  // namespace dlo::rabbitmq
