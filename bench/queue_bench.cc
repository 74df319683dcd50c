// The embedded queue by itself: what a message costs in instructions, memory, disk and time.
//   queue_bench                     every claim beside its goal, each in a process of its own
//   queue_bench keys|keys+ttl N     memory, with N messages to a key; if they can expire, too
//   queue_bench restarts N          restart with N messages waiting
//   queue_bench fill DIR N          ... the two halves of that: N messages and kill -9
//   queue_bench restart DIR         ... and how long the next start takes, for profilers
//   queue_bench sizes [LIST]        memory and disk, a million messages in lists of LIST
//   queue_bench writes              bytes passed to write calls, eight threads with 64 in flight
//   queue_bench moves|holding|redriving                      a million messages at once
//   queue_bench idling|lateness|dedupe|stalls                one claim
//   queue_bench cycles N [BATCH]    N messages through publish, receive, settle: for callgrind
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "queue_claims.h"

namespace dlo::bench {
namespace {

int run(const std::vector<std::string>& words) {
  const std::string& what = words.front();
  const auto number = [&](std::size_t at, std::size_t otherwise) {
    return words.size() > at ? std::stoul(words[at]) : otherwise;
  };
  const std::pair<std::string_view, void (*)()> claims[] = {
      {"writes", writes}, {"moves", moves},       {"holding", holding}, {"redriving", redriving},
      {"idling", idling}, {"lateness", lateness}, {"dedupe", dedupe},   {"stalls", stalls},
  };
  for (const auto& [name, measure] : claims) {
    if (what != name) continue;
    measure();
    return 0;
  }
  if (what == "cycles" && words.size() > 1) {
    cycles(number(1, 0), number(2, 64));
  } else if (what == "keys" && words.size() > 1) {
    keys(number(1, 0), false);
  } else if (what == "keys+ttl" && words.size() > 1) {
    keys(number(1, 0), true);
  } else if (what == "sizes") {
    sizes(number(1, 512));
  } else if (what == "fill" && words.size() > 2) {
    fill_and_die(words[1], number(2, 0));
  } else if (what == "restart" && words.size() > 1) {
    say("restart to first lease", restart_millis(words[1], true), "ms", "");
  } else if (what == "restarts" && words.size() > 1) {
    restarts(number(1, 0));
  } else {
    std::fprintf(stderr, "queue_bench: no claim %s; the head of queue_bench.cc names them\n",
                 what.c_str());
    return 2;
  }
  return 0;
}

/// The same program again: memory that one claim used and kept would flatter the next.
int run_apart(std::vector<std::string> words) {
  const auto child = ::fork();
  if (child == 0) {
    std::string self = "queue_bench";
    std::vector<char*> argv{self.data()};
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv("/proc/self/exe", argv.data());
    std::_Exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  using dlo::bench::run;
  if (argc > 1) return run({argv + 1, argv + argc});
  std::vector<std::vector<std::string>> all = {
      {"sizes"},         {"writes"},  {"keys", "1"},     {"keys", "100000"},
      {"keys+ttl", "1"}, {"dedupe"},  {"restarts", "0"}, {"restarts", "1000000"},
      {"moves"},         {"holding"}, {"redriving"},     {"idling"},
      {"lateness"},      {"stalls"},
  };
  if (std::getenv("BENCH_LARGE") != nullptr) all.push_back({"restarts", "10000000"});
  for (const auto& words : all) {
    if (const int failed = dlo::bench::run_apart(words)) return failed;
  }
  return 0;
}
