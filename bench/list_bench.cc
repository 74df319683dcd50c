// Claim: the first page of a list led by an indexed field, and any page deep in it, come in less
// than 10 ms however many records there are; counters cost the same at any size; opening takes less
// than a second.
//
//   list_bench [--records 200000] [--directory /tmp] [--keep DIR]
// --keep DIR builds the office there once and uses it again: 5 million records take 17 GB and an
// hour. A second run shows the memory of a process that only reads.

#include <cstdio>
#include <fstream>
#include <optional>

#include "support/lists.h"
#include "support/measure.h"

#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::bench {
namespace {

std::unique_ptr<SqliteOffice> open(const std::string& directory) {
  return must(SqliteOffice::open(directory));
}

/// Anonymous memory, as the kernel counts it.
std::string anonymous_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssAnon:", 0) == 0) return line.substr(8);
  }
  return "unknown";
}

void measure(const std::string& directory, std::uint64_t records) {
  std::unique_ptr<SqliteOffice> office;
  const double opening = seconds([&] { office = open(directory); });
  std::printf("open: %.1f ms (goal < 1000), RssAnon %s\n", opening * 1000,
              anonymous_memory().c_str());
  wait_for_index(*office);
  print_lists(*office, records, 10);
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    times.push_back(seconds([&] { must(office->aggregate({.groups = 20})); }));
  }
  std::printf("tallies and 20 groups: %.2f ms; RssAnon %s\n", median(times) * 1000,
              anonymous_memory().c_str());
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  using namespace dlo::bench;
  const std::uint64_t records = std::stoull(option(argc, argv, "records", "200000"));
  const std::string kept = option(argc, argv, "keep", "");
  std::optional<Scratch> scratch;
  if (kept.empty()) scratch.emplace(option(argc, argv, "directory", "/tmp"));
  const std::string directory = kept.empty() ? scratch->path() : kept;
  if (!std::filesystem::exists(directory + "/office.db")) fill(*open(directory), records);
  measure(directory, records);
}
