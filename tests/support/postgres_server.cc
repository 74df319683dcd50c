#include "support/postgres_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <random>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "support/server_script.h"

namespace dlo::testing {
namespace {

ServerScript script() {
  return {"postgres", DLO_POSTGRES_CLUSTER};
}

bool is_free(std::uint16_t port) {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(port);
  const bool taken =
      ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
  ::close(probe);
  return !taken;
}

/// Below those the kernel gives to whoever connects somewhere: a server that is down must find its
/// port free when it comes back.
std::uint16_t free_port() {
  std::random_device random;
  std::uniform_int_distribution<std::uint16_t> any(30'000, 32'767);
  std::uint16_t port = any(random);
  while (!is_free(port)) port = any(random);
  return port;
}

std::string address_of(const std::string& port, const std::string& database) {
  return "postgresql://dlo@127.0.0.1:" + port + "/" + database;
}

}  // namespace

std::string shared_postgres() {
  static const std::string address = address_of(script().join_shared(), "postgres");
  return address;
}

PostgresServer::PostgresServer(std::vector<std::string> settings)
    : settings_(std::move(settings)), port_(free_port()) {
  start();
}

PostgresServer::~PostgresServer() {
  crash();
}

std::string PostgresServer::address(const std::string& database) const {
  return address_of(std::to_string(port_), database);
}

void PostgresServer::crash() {
  (void)script().run("down " + directory_.path() + " immediate");
}

void PostgresServer::start() {
  std::string arguments = "up " + directory_.path() + " " + std::to_string(port_);
  for (const std::string& setting : settings_) arguments += " " + setting;
  (void)script().must_run(arguments);
}

}  // namespace dlo::testing
