#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace dlo::testing {

/// A directory of its own, gone at the end of the test. In memory where there is room: what tests
/// kill is a process, never the machine, and a shared disk makes every sync wait for strangers.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (below() / "dlo-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  static std::filesystem::path below() {
    constexpr std::uintmax_t enough = std::uintmax_t{1} << 30U;
    std::error_code none;
    const auto memory = std::filesystem::space("/dev/shm", none);
    if (!none && memory.available >= enough) return "/dev/shm";
    return std::filesystem::temp_directory_path();
  }
  std::string path_;
};

}  // namespace dlo::testing
