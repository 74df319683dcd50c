#include "support/postgres_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "support/server_script.h"

namespace dlo::testing {
namespace {

ServerScript script() {
  return {"postgres", DLO_POSTGRES_CLUSTER};
}

int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  (void)::bind(probe, reinterpret_cast<const sockaddr*>(&address), size);
  (void)::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(probe);
  return ::ntohs(address.sin_port);
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
