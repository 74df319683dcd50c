#include "support/server_script.h"

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
#include <utility>

#include "support/require.h"

namespace dlo::testing {
namespace {

struct Ran {
  int status = -1;
  std::string output;
};

/// What the script says goes to a pipe that the server it starts does not hold.
Ran run_command(std::string command) {
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

/// One for each build, where there is room and the server's user may go.
std::string shared_directory(const std::string& kind) {
  std::error_code none;
  const auto memory = std::filesystem::space("/dev/shm", none);
  const bool room = !none && memory.available >= (std::uintmax_t{1} << 30U);
  const std::size_t build = std::hash<std::string>{}(DLO_BUILD_DIRECTORY);
  return std::string(room ? "/dev/shm" : "/tmp") + "/dlo-" + kind + "-" +
         std::to_string(::getuid()) + "-" + std::to_string(build);
}

/// The port of a server that is up; empty if it is not.
std::string port_in(const std::string& file) {
  std::ifstream text(file);
  std::uint16_t port = 0;
  if (!(text >> port)) return "";
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(port);
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool up =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(probe);
  return up ? std::to_string(port) : "";
}

}  // namespace

ServerScript::ServerScript(std::string kind, std::string script)
    : kind_(std::move(kind)), script_(std::move(script)) {}

bool ServerScript::run(const std::string& arguments) const {
  return run_command(script_ + " " + arguments).status == 0;
}

std::string ServerScript::must_run(const std::string& arguments) const {
  const Ran ran = run_command(script_ + " " + arguments);
  if (ran.status != 0) throw MissingServer(kind_, ran.output);
  const std::string said = ran.output.substr(0, ran.output.find_last_not_of('\n') + 1);
  return said.substr(said.rfind('\n') + 1);  // npos + 1: there is only one line
}

std::string ServerScript::join_shared() const {
  const std::string directory = shared_directory(kind_);
  // Held until this program ends, however it does.
  const int users = ::open((directory + ".users").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (users < 0 || ::flock(users, LOCK_SH) != 0) {
    throw MissingServer(kind_, "cannot lock " + directory + ".users");
  }
  const std::string port = port_in(directory + "/port");
  return port.empty() ? must_run("shared " + directory) : port;
}

}  // namespace dlo::testing
