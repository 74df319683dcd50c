// What the disk itself can do: syncs a second, which no queue that syncs before it acknowledges can
// beat without sharing them. Called like a peer, with workloads of its own:
//
// disk_limits append_1k|overwrite_4k|overwrite_64k|paced_4k MESSAGES BODY_SIZE FOLDER [SECONDS]
//
// MESSAGES and BODY_SIZE do not matter. overwrite: the file was written and allocated beforehand,
// as recycled segments are; append: it grows, so that each sync also journals metadata; paced: as
// overwrite, but a block is due every millisecond, whether the one before is synced or not, and
// the time is from due to durable: no queue that syncs can deliver earlier.
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#include "peers/support/budget.h"
#include "peers/support/clock.h"
#include "peers/support/failure.h"
#include "peers/support/latencies.h"

namespace dlo::peers {
namespace {

struct Limit {
  std::string_view name;
  std::size_t block;
  bool overwrite;
  bool paced = false;
};
constexpr std::array<Limit, 4> limits{{
    {"append_1k", 1 << 10, false},
    {"overwrite_4k", 4 << 10, true},
    {"overwrite_64k", 64 << 10, true},
    {"paced_4k", 4 << 10, true, true},
}};
constexpr std::size_t file_size = 64 << 20;

void sync(int file) {
  if (::fdatasync(file) != 0) fail(std::string{"fdatasync: "} + std::strerror(errno));
}

void write_block(int file, const std::string& block) {
  if (::write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size())) {
    fail(std::string{"write: "} + std::strerror(errno));
  }
}

/// One sync for all that is due, over and over.
long measure_paced(int file, const std::string& block, Seconds seconds, Latencies& latencies) {
  Pace pace{std::lround(seconds.count() * 1000), std::chrono::milliseconds{1}};
  pace.start();
  long done = 0;
  for (std::size_t at = 0; done < pace.messages(); at = (at + block.size()) % file_size) {
    std::this_thread::sleep_until(pace.wake());
    std::vector<long> due;
    pace.send_due([&](long number) { due.push_back(number); });
    if (due.empty()) continue;
    if (at == 0) ::lseek(file, 0, SEEK_SET);
    write_block(file, block);
    sync(file);
    for (const long number : due) latencies.add(Clock::now() - pace.due(number));
    done += static_cast<long>(due.size());
  }
  return done;
}

void measure(const Limit& limit, const std::string& folder, Seconds seconds) {
  const std::string name = folder + "/disk_limits";
  const int file = ::open(name.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) fail("cannot write to " + folder + ": " + std::strerror(errno));
  ::unlink(name.c_str());  // gone when the program ends, however it ends
  if (limit.overwrite) {
    const std::string zeros(1 << 20, '\0');
    for (std::size_t at = 0; at < file_size; at += zeros.size()) write_block(file, zeros);
    ::fsync(file);
  }
  const std::string block(limit.block, 'x');
  Latencies latencies;
  long syncs = 0;
  std::size_t at = file_size;
  const Instant start = Clock::now();
  if (limit.paced) syncs = measure_paced(file, block, seconds, latencies);
  for (Instant before = start; !limit.paced && before - start < seconds; ++syncs) {
    if (limit.overwrite && at + block.size() > file_size) at = 0;
    if (at == 0) ::lseek(file, 0, SEEK_SET);
    write_block(file, block);
    sync(file);
    at += block.size();
    const Instant after = Clock::now();
    latencies.add(after - before);
    before = after;
  }
  std::printf("%s %.0f %.3f\n", std::string{limit.name}.c_str(),
              static_cast<double>(syncs) / Seconds{Clock::now() - start}.count(),
              latencies.percentile(0.99).count());
  ::close(file);
}

}  // namespace
}  // namespace dlo::peers

int main(int argc, char** argv) {
  using namespace dlo::peers;
  if (argc < 5)
    fail("usage: disk_limits LIMIT MESSAGES BODY_SIZE FOLDER [SECONDS]", Exit::wrong_use);
  const double seconds = argc > 5 ? std::strtod(argv[5], nullptr) : 2;
  for (const auto& limit : limits) {
    if (limit.name != argv[1]) continue;
    measure(limit, argv[4], Seconds{seconds});
    return static_cast<int>(Exit::fine);
  }
  fail("there is no limit '" + std::string{argv[1]} +
           "'; there are: append_1k overwrite_4k overwrite_64k paced_4k",
       Exit::wrong_use);
}
