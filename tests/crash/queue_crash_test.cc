// kill -9 at random moments under mixed load from eight threads: what was acknowledged is there,
// what was completed is not, and the files are whole.
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <iostream>
#include <poll.h>
#include <random>
#include <set>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/killable.h"
#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/broker/embedded/queue_check.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

/// Starts the worker, reads what it says for `time`, kills it, reads the rest.
std::string live_for(std::chrono::microseconds time, const std::string& directory, int life) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string path = DLO_QUEUE_CRASH_WORKER;
  std::string place = directory;
  std::string number = std::to_string(life);
  char* argv[] = {path.data(), place.data(), number.data(), nullptr};
  pid_t pid = 0;
  const int spawned = ::posix_spawn(&pid, path.c_str(), &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (spawned != 0) throw std::runtime_error("cannot start " + path);
  const auto end = std::chrono::steady_clock::now() + time;
  std::string said;
  bool killed = false;
  char buffer[65536];
  while (true) {
    const auto left = end - std::chrono::steady_clock::now();
    if (!killed && left <= 0us) {
      ::kill(pid, SIGKILL);
      killed = true;
    }
    pollfd readable{ends[0], POLLIN, 0};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(left, 0ns)).count();
    if (::poll(&readable, 1, killed ? -1 : static_cast<int>(wait)) <= 0) continue;
    const auto got = ::read(ends[0], buffer, sizeof buffer);
    if (got <= 0) break;
    said.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the worker ended by itself: " << WEXITSTATUS(status);
  return said;
}

struct Books {
  std::set<std::string> maybe;      // asked for, not answered
  std::set<std::string> sent;       // acknowledged
  std::set<std::string> finishing;  // completion asked for
  std::set<std::string> done;       // completion acknowledged
  std::size_t all_done = 0;

  /// Whoever is gone is forgotten: should it come back, it was never sent. So a thousand rounds
  /// cost no more than a thousand times one.
  void keep(const std::set<std::string>& here) {
    all_done += done.size();
    for (auto* ids : {&maybe, &sent, &finishing, &done}) {
      std::erase_if(*ids, [&](const std::string& id) { return !here.contains(id); });
    }
  }

  void note(const std::string& said) {
    std::size_t from = 0;
    for (auto at = said.find('\n'); at != std::string::npos; at = said.find('\n', from)) {
      const std::string id = said.substr(from + 2, at - from - 2);
      switch (said[from]) {
        case 's':
          maybe.insert(id);
          break;
        case 'S':
          sent.insert(id);
          break;
        case 'c':
          finishing.insert(id);
          break;
        case 'C':
          done.insert(id);
          break;
        default:
          FAIL() << "the worker said: " << said.substr(from, at - from);
      }
      from = at + 1;
    }
  }
};

/// Opens the queue after a death and compares it with the books.
void audit(const std::string& directory, Books& books) {
  auto files = must(open_directory(directory, true));
  const auto check = must(check_queues(*files));
  ASSERT_TRUE(check.damages.empty())
      << check.damages.front().file << " " << check.damages.front().what;
  const auto now = std::chrono::floor<Millis>(std::chrono::system_clock::now());
  auto queues = must(EmbeddedQueues::open(directory, now));
  if (queues->names().empty()) {  // killed before it could make the queue
    EXPECT_TRUE(books.maybe.empty());
    return;
  }
  auto queue = must(queues->find("jobs"));
  std::set<std::string> here;
  for (const auto& each : must(queue->peek(10'000'000))) {
    ASSERT_TRUE(here.insert(each->id).second) << each->id << " is there twice";
    ASSERT_TRUE(books.maybe.contains(each->id)) << each->id << " was never sent";
    ASSERT_FALSE(books.done.contains(each->id)) << each->id << " was done and is back";
  }
  for (const auto& id : books.sent) {
    ASSERT_TRUE(here.contains(id) || books.finishing.contains(id)) << id << " is lost";
  }
  const auto stats = must(queue->stats(now));
  EXPECT_EQ(stats.ready + stats.delayed + stats.held, here.size());
  EXPECT_EQ(stats.published, stats.completed + stats.purged + here.size());
  if (here.size() > 2000) {
    // So that it does not grow for ever; what is purged is settled.
    must(queue->purge());
    for (const auto& id : here) books.finishing.insert(id);
  }
  books.keep(here);
  must(queues->close());
}

TEST(QueueCrash, LosesNothingThatWasAcknowledgedHoweverOftenItIsKilled) {
  const TemporaryDirectory directory;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const int kills = kills_of(60);
  Books books;
  for (int life = 1; life <= kills; ++life) {
    const std::chrono::microseconds time{DLO_PATIENCE * (20'000 + random() % 250'000)};
    books.note(live_for(time, directory.path(), life));
    if (::testing::Test::HasFatalFailure()) return;
    audit(directory.path(), books);
    if (::testing::Test::HasFatalFailure()) return;
  }
  std::cout << kills << " kills, " << books.all_done << " messages completed\n";
  EXPECT_GT(books.all_done, static_cast<std::size_t>(kills));
}

}  // namespace
}  // namespace dlo::testing
