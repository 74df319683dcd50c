// kill -9 at random moments under mixed load from eight threads: what was acknowledged is there,
// what was completed is not, what died is dead until it is sent back, what was moved, purged or
// paused is so, and the files are whole.
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <iostream>
#include <optional>
#include <poll.h>
#include <random>
#include <set>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crash/killable.h"
#include "crash/queue_worker/queues.h"
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

/// Something that is done to a whole queue, by one thread: when it was asked for last and when it
/// was answered last, as numbers of lines.
struct Act {
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  std::uint64_t done = 0;  // when that was asked for which was answered last
  std::uint64_t times = 0;
  /// It was over when that line was said, and nothing of the kind happened since.
  [[nodiscard]] bool surely_before(std::uint64_t line) const {
    return answered >= asked && line > answered;
  }
  /// It was asked for after that line, and answered.
  [[nodiscard]] bool surely_after(std::uint64_t line) const { return line < done; }
};

/// What the workers said of one message. A number is that of the line; zero: not said.
struct Page {
  std::uint64_t sent = 0;     // acknowledged
  bool finishing = false;     // completion asked for
  bool done = false;          // ... and acknowledged
  int condemned = 0;          // so often its death was asked for, by anybody
  int deaths = 0;             // ... and acknowledged
  std::uint64_t dying = 0;    // ... first, since one was answered last
  std::uint64_t died = 0;     // when the death was asked for that was answered last, or earlier
  std::uint64_t died_by = 0;  // ... and when it was answered
};

struct Books {
  std::unordered_map<std::string, Page> jobs;  // asked for, at least
  struct Litter {
    std::uint64_t asked = 0;
    std::uint64_t sent = 0;
  };
  std::unordered_map<std::string, Litter> junk;
  std::vector<std::string> deduped;  // in this life
  Act redrive, move, purge;
  std::optional<bool> paused = false;  // empty: it was being changed
  std::uint64_t line = 0;
  std::size_t all_done = 0;
  std::size_t all_dead = 0;

  /// Whatever was under way when the worker died has happened or never will.
  void begin_life() {
    for (Act* act : {&redrive, &move, &purge}) act->answered = std::max(act->answered, act->asked);
    deduped.clear();
  }

  /// Whoever is gone is forgotten: should it come back, it was never sent. So a thousand rounds
  /// cost no more than a thousand times one.
  template <typename Here>
  static void keep(auto& pages, const Here& here) {
    std::erase_if(pages, [&](const auto& each) { return !here.contains(each.first); });
  }

  void note(const std::string& said) {
    std::size_t from = 0;
    for (auto at = said.find('\n'); at != std::string::npos; at = said.find('\n', from)) {
      ++line;
      ASSERT_TRUE(note_one(said[from], said.substr(from + 2, at - from - 2)))
          << "the worker said: " << said.substr(from, at - from);
      from = at + 1;
    }
  }

  bool note_one(char sign, const std::string& id) {
    if (const auto act = std::string("vmx").find(sign); act != std::string::npos) {
      (act == 0 ? redrive : act == 1 ? move : purge).asked = line;
      return true;
    }
    if (const auto act = std::string("VMX").find(sign); act != std::string::npos) {
      Act& of = act == 0 ? redrive : act == 1 ? move : purge;
      of.answered = line;
      of.done = of.asked;
      ++of.times;
      return true;
    }
    switch (sign) {
      case 's':
        return jobs.try_emplace(id).second;
      case 'S':
        jobs.at(id).sent = line;
        return true;
      case 'K':
        deduped.push_back(id);
        return true;
      case 'c':
        return jobs.contains(id) && (jobs[id].finishing = true);
      case 'C':
        ++all_done;
        return jobs.contains(id) && !std::exchange(jobs[id].done, true);
      case 'd':
        ++jobs.at(id).condemned;
        if (jobs[id].dying == 0) jobs[id].dying = line;
        return true;
      case 'D':
        ++all_dead;
        // Zero: it was sent back and asked for again before this was told; which is which?
        jobs.at(id).died = std::exchange(jobs[id].dying, 0);
        jobs[id].died_by = line;
        return ++jobs[id].deaths <= jobs[id].condemned;
      case 'j':
        return junk.try_emplace(id, Litter{line, 0}).second;
      case 'J':
        junk.at(id).sent = line;
        return true;
      case 'p':
      case 'r':
        paused.reset();
        return true;
      case 'P':
      case 'R':
        paused = sign == 'P';
        return true;
      default:
        return false;
    }
  }
};

TimePoint wall() {
  return std::chrono::floor<Millis>(std::chrono::system_clock::now());
}

using Ids = std::set<std::string>;

template <typename List, typename IdOf>
Ids ids_of(const List& list, const IdOf& id_of, Ids& everywhere) {
  Ids ids;
  for (const auto& each : list) {
    ids.insert(id_of(each));
    EXPECT_TRUE(everywhere.insert(id_of(each)).second) << id_of(each) << " is there twice";
  }
  return ids;
}
Ids waiting_in(EmbeddedQueue& queue, Ids& everywhere) {
  return ids_of(
      must(queue.peek(10'000'000)), [](const MessagePtr& each) { return each->id; }, everywhere);
}

/// What waits, what is dead and what was spilt, and where the books say that each must be.
void audit_jobs(Books& books, EmbeddedQueue& jobs, EmbeddedQueue& spill) {
  Ids here;
  const Ids waiting = waiting_in(jobs, here);
  const Ids spilt = waiting_in(spill, here);
  const Ids dead = ids_of(
      must(jobs.dead_letters(10'000'000)), [](const auto& each) { return each.message->id; }, here);
  for (const auto& id : here) {
    ASSERT_TRUE(books.jobs.contains(id)) << id << " was never sent";
    ASSERT_FALSE(books.jobs.at(id).done) << id << " was done and is back";
  }
  for (const auto& [id, page] : books.jobs) {
    ASSERT_TRUE(page.sent == 0 || here.contains(id) || page.finishing) << id << " is lost";
    ASSERT_TRUE(page.condemned > 0 || !dead.contains(id)) << id << " is dead and nobody said so";
    if (page.died != 0 && books.redrive.surely_before(page.died)) {
      ASSERT_FALSE(waiting.contains(id)) << id << " died and waits";
    }
    if (page.died != 0 && page.deaths == page.condemned &&
        books.redrive.surely_after(page.died_by)) {
      ASSERT_FALSE(dead.contains(id)) << id << " was sent back and is dead";
    }
    if (page.sent != 0 && books.move.surely_after(page.sent)) {
      ASSERT_FALSE(spilt.contains(id)) << id << " was moved and is where it was";
    }
  }
  const auto stats = must(jobs.stats(wall()));
  EXPECT_EQ(stats.ready + stats.delayed + stats.held, waiting.size());
  EXPECT_EQ(stats.dead_lettered, dead.size());
  EXPECT_EQ(jobs.dead(), dead.size());
  EXPECT_EQ(stats.published, stats.completed + stats.purged + waiting.size() + dead.size());
  EXPECT_EQ(must(spill.stats(wall())).published, spilt.size());
  if (books.paused) {
    EXPECT_EQ(stats.paused, *books.paused);
  }
  if (waiting.size() > 2000) {
    // So that it does not grow for ever; what is purged is settled.
    must(jobs.purge());
    for (const auto& id : waiting) books.jobs[id].finishing = true;
  }
  Books::keep(books.jobs, here);
}

void audit_junk(Books& books, EmbeddedQueue& junk) {
  Ids here;
  waiting_in(junk, here);
  for (const auto& id : here) ASSERT_TRUE(books.junk.contains(id)) << id << " was never sent";
  for (const auto& [id, litter] : books.junk) {
    if (litter.sent == 0) continue;
    if (books.purge.surely_after(litter.sent)) {
      ASSERT_FALSE(here.contains(id)) << id << " was purged and is back";
    }
    if (books.purge.surely_before(litter.asked)) {
      ASSERT_TRUE(here.contains(id)) << id << " is lost";
    }
  }
  const auto stats = must(junk.stats(wall()));
  EXPECT_EQ(stats.published, stats.purged + here.size());
  Books::keep(books.junk, here);
}

/// Who was sent with an id is remembered by it, whatever became of him.
void audit_dedupe(const Books& books, EmbeddedQueue& jobs, TimePoint died) {
  const std::size_t newest = std::min<std::size_t>(books.deduped.size(), 50);
  for (std::size_t i = books.deduped.size() - newest; i < books.deduped.size(); ++i) {
    auto message = std::make_shared<Message>();
    message->id = "again." + books.deduped[i];
    Publication again;
    again.message = std::move(message);
    again.dedupe_id = books.deduped[i];
    const auto now = wall();
    if (now - died > remembered / 2) return;  // too slow to say
    ASSERT_TRUE(must(jobs.publish({&again, 1}, now)).front().duplicate) << again.dedupe_id;
  }
}

/// Opens the queues after a death and compares them with the books.
void audit(const std::string& directory, Books& books, TimePoint died) {
  auto files = must(open_directory(directory, true));
  const auto check = must(check_queues(*files));
  ASSERT_TRUE(check.damages.empty())
      << check.damages.front().file << " " << check.damages.front().what;
  auto queues = must(EmbeddedQueues::open(directory, wall()));
  const auto queue = [&](const char* name) {  // made, if it was killed before it could make it
    return must(queues->declare(queue_of_the_worker(name), keeps_its_dead(name)));
  };
  const auto jobs = queue("jobs");
  audit_jobs(books, *jobs, *queue("spill"));
  if (::testing::Test::HasFatalFailure()) return;
  audit_junk(books, *queue("junk"));
  if (::testing::Test::HasFatalFailure()) return;
  audit_dedupe(books, *jobs, died);
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
    books.begin_life();
    books.note(live_for(time, directory.path(), life));
    if (::testing::Test::HasFatalFailure()) return;
    audit(directory.path(), books, wall());
    if (::testing::Test::HasFailure()) return;
  }
  std::cout << kills << " kills, " << books.all_done << " messages completed, " << books.all_dead
            << " dead, " << books.redrive.times << " times all dead sent back, " << books.move.times
            << " moves, " << books.purge.times << " purges\n";
  EXPECT_GT(books.all_done, static_cast<std::size_t>(kills));
  EXPECT_GT(books.all_dead, static_cast<std::size_t>(kills) / 4);
  EXPECT_GT(books.redrive.times, static_cast<std::uint64_t>(kills) / 4);
  EXPECT_GT(books.move.times, static_cast<std::uint64_t>(kills) / 4);
  EXPECT_GT(books.purge.times, static_cast<std::uint64_t>(kills) / 4);
}

}  // namespace
}  // namespace dlo::testing
