#include <algorithm>
#include <arpa/inet.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <netinet/in.h>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "scenario/program.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

std::string free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(fd, plain, size) == 0 && ::getsockname(fd, plain, &size) == 0;
  ::close(fd);
  return bound ? std::to_string(ntohs(address.sin_port)) : "0";
}

/// The console blocks between the marks: commands as one script, and the lines they are said to
/// print.
struct Story {
  std::string script;
  std::vector<std::string> printed;
};

Story read_story(const std::string& path) {
  std::ifstream file(path);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  const auto from = all.find("<!-- story");
  std::istringstream part(all.substr(from, all.find("<!-- end of story") - from));
  Story story;
  bool console = false;
  bool command = false;
  for (std::string line; std::getline(part, line);) {
    if (line.starts_with("```")) {
      console = line == "```console";
      command = false;
    } else if (console && (line.starts_with("$ ") || (command && line.starts_with("  ")))) {
      command = true;
      story.script += line.substr(2) + "\n";
    } else if (console) {
      command = false;
      story.printed.push_back(line);
    }
  }
  return story;
}

/// What differs from run to run taken out: ids, hashes, ages, blanks of columns.
std::string settled(const std::string& line) {
  std::string text = std::regex_replace(line, std::regex("[0-9a-f]{16,64}"), "ID");
  text = std::regex_replace(text, std::regex("([0-9]+[smhd] )+ago|\\bnow\\b"), "AGE");
  text = std::regex_replace(text, std::regex("[0-9]{5,}|All [0-9]+"), "NUMBER");
  return std::regex_replace(text, std::regex(" +"), " ");
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// A new user types what the README says, and sees what it shows.
TEST(Scenario, TheReadmeTellsTheTruth) {
  const TemporaryDirectory place;
  Story story = read_story(DLO_README);
  ASSERT_GT(story.printed.size(), 10U) << "the story was not found in the README";
  const std::string port = free_port();
  replace_all(story.script, "localhost:8080", "localhost:" + port);
  replace_all(story.script, "dlo serve --data shop &\n",
              "dlo serve --data shop --listen 127.0.0.1:" + port +
                  " > serve.out & server=$!\ntrap 'kill $server; wait $server' EXIT\n"
                  "curl -s --retry 60 --retry-delay 1 --retry-connrefused localhost:" +
                  port + "/healthz > /dev/null\n");
  std::ofstream(place.path() + "/story.sh") << "set -e\nexec 2>&1\n" << story.script;
  const Ended told = run_shell("sh story.sh", place.path());
  ASSERT_EQ(told.code, 0) << told.out << told.err;

  std::set<std::string> seen;
  std::istringstream lines(told.out);
  for (std::string line; std::getline(lines, line);) seen.insert(settled(line));
  for (const std::string& line : story.printed) {
    EXPECT_TRUE(seen.contains(settled(line))) << "the README says\n  " << line << "\nbut it was\n"
                                              << told.out;
  }
}

}  // namespace
}  // namespace dlo::testing
