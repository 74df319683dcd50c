#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "peers/support/connection.h"

namespace dlo::peers::nats {

/// What a message on one of a connection's four inboxes is; the number is that of its subscription.
enum class Inbox : int { published = 1, delivered = 2, settled = 3, api = 4 };

/// One thing the server said.
struct Said {
  std::size_t bytes = 0;   // 0: not whole yet
  int inbox = 0;           // 0: no message (PING, PONG, INFO, ...)
  bool is_status = false;  // a message about messages, such as "request timed out"
  bool is_pong = false;
  std::string_view reply_to;
  std::string_view data;

  [[nodiscard]] bool is(Inbox which) const noexcept { return inbox == static_cast<int>(which); }
};

/// Reads one; an error ends the program.
[[nodiscard]] Said read(std::string_view bytes);

/// Appends a publish of `data`; an answer to it, if there is one, goes to `reply_to`.
void publish(std::string& out, std::string_view subject, std::string_view reply_to,
             std::string_view data);

/// Where answers for this connection go. Groups that are open at different times share the names,
/// so nobody may close one while the server still owes it messages.
[[nodiscard]] std::string address(const Connection& connection, Inbox inbox);

/// So many connections that are logged in and listen on their inboxes.
[[nodiscard]] std::vector<Connection> open(int port, int count);

/// One call of the JetStream API; the JSON it answers with. An error ends the program.
std::string call(int port, std::string_view subject, std::string_view json);

}  // namespace dlo::peers::nats
