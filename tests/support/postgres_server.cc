#include "support/postgres_server.h"

#include <arpa/inet.h>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/require.h"

namespace dlo::testing {
namespace {

struct Ran {
  int status = -1;
  std::string output;
};

/// What the script says goes to a pipe that the server it starts does not hold.
Ran run(const std::string& arguments) {
  std::string command(DLO_POSTGRES_CLUSTER);
  command += " ";
  command += arguments;
  command += " 2>&1";
  Ran ran;
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return ran;
  char piece[512];
  while (std::fgets(piece, sizeof piece, pipe) != nullptr) ran.output += piece;
  const int ended = ::pclose(pipe);
  ran.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return ran;
}

std::string must_run(const std::string& arguments) {
  const Ran ran = run(arguments);
  if (ran.status != 0) throw MissingServer("postgres", ran.output);
  return ran.output;
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

std::string address_of(int port, const std::string& database) {
  return "postgresql://dlo@127.0.0.1:" + std::to_string(port) + "/" + database;
}

/// One for each build, where there is room and the server's user may go.
std::string shared_directory() {
  std::error_code none;
  const auto memory = std::filesystem::space("/dev/shm", none);
  const bool room = !none && memory.available >= (std::uintmax_t{1} << 30U);
  const std::size_t build = std::hash<std::string>{}(DLO_BUILD_DIRECTORY);
  return std::string(room ? "/dev/shm" : "/tmp") + "/dlo-postgres-" + std::to_string(::getuid()) +
         "-" + std::to_string(build);
}

/// The port of a server that is up; 0 if it is not.
int port_in(const std::string& file) {
  std::ifstream text(file);
  int port = 0;
  if (!(text >> port)) return 0;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(static_cast<std::uint16_t>(port));
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int connected =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::close(probe);
  return connected == 0 ? port : 0;
}

std::string join_shared() {
  const std::string directory = shared_directory();
  // Held until this program ends, however it does.
  const int users = ::open((directory + ".users").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (users < 0 || ::flock(users, LOCK_SH) != 0) {
    throw MissingServer("postgres", "cannot lock " + directory + ".users");
  }
  if (const int port = port_in(directory + "/port"); port != 0) return address_of(port, "postgres");
  return address_of(std::stoi(must_run("shared " + directory)), "postgres");
}

}  // namespace

std::string shared_postgres() {
  static const std::string address = join_shared();
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
  return address_of(port_, database);
}

void PostgresServer::crash() {
  (void)run("down " + directory_.path() + " immediate");
}

void PostgresServer::start() {
  std::string arguments = "up " + directory_.path() + " " + std::to_string(port_);
  for (const std::string& setting : settings_) arguments += " " + setting;
  (void)must_run(arguments);
}

}  // namespace dlo::testing
