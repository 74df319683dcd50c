#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <unistd.h>

#include "support/eventually.h"

#include "dlo/engine/handler.h"

namespace dlo {

/// So that a failed comparison says what happened instead of printing bytes.
inline void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << "kind " << static_cast<int>(outcome.kind) << ", type " << outcome.failure.type
       << ", code " << outcome.failure.code << ", text " << outcome.failure.text;
}

}  // namespace dlo

namespace dlo::testing {

using namespace std::chrono_literals;

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

/// A directory of the test's own, removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dlo-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in(path_ + "/" + name, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(path_ + "/" + name);
  }

 private:
  std::string path_;
};

inline RunContext context_of_first_attempt() {
  RunContext context;
  context.id = RecordId{{0x0011223344556677ULL, 0x8899AABBCCDDEEFFULL}};
  context.fence = LeaseToken{{7, 9}};
  context.counters.attempt = 1;
  context.counters.total = 1;
  return context;
}

}  // namespace dlo::testing
