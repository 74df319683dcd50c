#pragma once

// What the files of queue_bench share: the claims, and how queues are filled and emptied.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/measure.h"

#include "dlo/broker/embedded/embedded_queues.h"

namespace dlo::bench {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "queue_bench: %s\n", result.error().detail.c_str());
    std::exit(1);
  }
  return std::move(*result);
}
inline void must(const Result<void>& result) {
  if (!result) {
    std::fprintf(stderr, "queue_bench: %s\n", result.error().detail.c_str());
    std::exit(1);
  }
}

inline TimePoint wall() {
  return std::chrono::floor<Millis>(std::chrono::system_clock::now());
}

inline double seconds_since(Steady::time_point began) {
  return std::chrono::duration<double>(Steady::now() - began).count();
}

/// Anonymous memory of this process, in bytes.
inline double anonymous() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) * 1024;
  }
  return 0;
}

inline MessagePtr kilobyte(std::size_t number) {
  auto message = std::make_shared<Message>();
  message->id = std::to_string(number);
  message->payload = std::string(1024, static_cast<char>('a' + number % 26));
  return message;
}

/// On the disk of the current directory: memory would flatter us.
inline Scratch folder_here() {
  return Scratch(std::filesystem::current_path().string());
}

inline SourceOptions jobs() {
  SourceOptions options;
  options.source = "jobs";
  return options;
}

inline void fill(EmbeddedQueue& queue, std::size_t count, Millis delay = 0ms,
                 std::size_t list = 512) {
  std::vector<Publication> batch;
  for (std::size_t i = 0; i < count;) {
    batch.clear();
    for (; batch.size() < list && i < count; ++i) {
      Publication publication;
      publication.message = kilobyte(i);
      publication.delay = delay;
      batch.push_back(std::move(publication));
    }
    must(queue.publish(batch, wall()));
  }
}

inline std::size_t drain(EmbeddedQueue& queue, std::size_t batch, std::size_t limit = SIZE_MAX) {
  std::size_t done = 0;
  while (done < limit) {
    const auto got = must(queue.receive({std::min(batch, limit - done), 60s, 0ms}, wall()));
    if (got.empty()) break;
    std::vector<Settlement> settlements;
    settlements.reserve(got.size());
    for (const auto& each : got) settlements.emplace_back(each.lease, Completed{});
    must(queue.settle(settlements, wall()));
    done += got.size();
  }
  return done;
}

/// Ratios are told to a hundredth: 1.149 is not 1.1.
inline void say(const char* what, double value, const char* unit, const char* goal) {
  const int places = std::string_view(unit) == "x" ? 2 : 1;
  std::printf("%-50s %12.*f %-10s %s\n", what, places, value, unit, goal);
  std::fflush(stdout);
}

// --- memory, disk and bytes written
void sizes(std::size_t list);
void keys(std::size_t messages_a_key, bool expire);
void dedupe();
void writes();
void cycles(std::size_t count, std::size_t batch);

// --- time
double restart_millis(const std::string& path, bool expects_one);
void fill_and_die(const std::string& path, std::size_t count);
void restarts(std::size_t count);
void lateness();
void moves();
void holding();
void redriving();
void stalls();
void idling();

}  // namespace dlo::bench
