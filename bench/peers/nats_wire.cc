#include "peers/nats_wire.h"

#include <algorithm>
#include <array>

#include "peers/support/failure.h"
#include "peers/support/number.h"

namespace dlo::peers::nats {
namespace {

/// MSG subject inbox [reply-to] size, or HMSG subject inbox [reply-to] header-size size.
Said read_message(std::string_view line, std::string_view bytes) {
  const bool has_header = line.front() == 'H';
  std::array<std::string_view, 6> words;
  std::size_t count = 0;
  while (!line.empty() && count < words.size()) {
    const auto space = std::min(line.find(' '), line.size());
    words[count++] = line.substr(0, space);
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  const std::size_t size = number_in<std::size_t>(words[count - 1]);
  const std::size_t header = has_header ? number_in<std::size_t>(words[count - 2]) : 0;
  const auto start = static_cast<std::size_t>(words[count - 1].data() - bytes.data()) +
                     words[count - 1].size() + 2;
  if (bytes.size() < start + size + 2) return {};
  Said said{.bytes = start + size + 2, .inbox = number_in<int>(words[2])};
  if (count == (has_header ? 6U : 5U)) said.reply_to = words[3];
  said.is_status = has_header && said.reply_to.empty();
  said.data = bytes.substr(start + header, size - header);
  return said;
}

}  // namespace

Said read(std::string_view bytes) {
  const auto end = bytes.find('\n');
  if (end == std::string_view::npos) return {};
  const auto line = bytes.substr(0, end - 1);
  if (line.starts_with("MSG ") || line.starts_with("HMSG ")) return read_message(line, bytes);
  if (line.starts_with("-ERR")) fail("nats says: " + std::string{line});
  return {.bytes = end + 1, .is_pong = line.starts_with("PONG")};
}

void publish(std::string& out, std::string_view subject, std::string_view reply_to,
             std::string_view data) {
  out.append("PUB ").append(subject).append(" ");
  if (!reply_to.empty()) out.append(reply_to).append(" ");
  out.append(std::to_string(data.size())).append("\r\n").append(data).append("\r\n");
}

std::string address(const Connection& connection, Inbox inbox) {
  return "_I." + std::to_string(connection.id()) + "." + std::to_string(static_cast<int>(inbox));
}

std::vector<Connection> open(int port, int count) {
  auto connections = connect(port, count);
  for (auto& connection : connections) {
    connection.out +=
        "CONNECT "
        "{\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true}\r\n";
    for (const auto inbox : {Inbox::published, Inbox::delivered, Inbox::settled, Inbox::api}) {
      connection.out += "SUB " + address(connection, inbox) + " " +
                        std::to_string(static_cast<int>(inbox)) + "\r\n";
    }
    connection.out += "PING\r\n";
  }
  int ready = 0;
  drive(
      connections, [](Connection&) {},
      [&](Connection&, std::string_view bytes) {
        const Said said = read(bytes);
        if (said.is_pong) ++ready;
        return said.bytes;
      },
      [&] { return ready == count; });
  return connections;
}

std::string call(int port, std::string_view subject, std::string_view json) {
  auto connection = open(port, 1);
  publish(connection[0].out, subject, address(connection[0], Inbox::api), json);
  std::string answer;
  drive(
      connection, [](Connection&) {},
      [&](Connection&, std::string_view bytes) {
        const Said said = read(bytes);
        if (said.is(Inbox::api)) answer = said.data;
        return said.bytes;
      },
      [&] { return !answer.empty(); });
  if (answer.find("\"error\"") != std::string::npos) {
    fail("nats refuses " + std::string{subject} + ": " + answer);
  }
  return answer;
}

}  // namespace dlo::peers::nats
