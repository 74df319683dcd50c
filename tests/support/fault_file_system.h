#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dlo/journal/file_system.h"

namespace dlo::testing {

/// A disk in memory that fails on request and forgets what a power cut would forget.
class FaultFileSystem final : public FileSystem {
 public:
  enum class Op : std::uint8_t { write, sync, open, rename, read, truncate, remove, sync_names };
  using Fault = std::function<std::optional<Code>(Op, const std::string& name)>;
  /// Asked before each operation; a code makes it fail. A failing write writes a random part.
  void set_fault(Fault fault) {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
  }

  /// All files together are at most so long: whoever wants more finds the disk full.
  void set_room(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    room_ = bytes;
  }

  Result<std::unique_ptr<File>> open(const std::string& name, OpenMode mode) override;
  Result<std::vector<std::string>> list() override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& name) override;
  Result<void> sync_names() override;
  [[nodiscard]] std::string describe(const std::string& name) const override { return name; }

  /// The machine loses power: of what was written since the last sync of a file, each 512-byte
  /// sector survives by chance, in any combination, or is torn: up to some byte it is new and old
  /// from there on, or the other way round. The file may be as long as it was then. Of the names
  /// made, changed and removed since `sync_names`, the first few survive.
  void power_cut(std::uint64_t seed);

  /// The bytes of a file as they are, to look at and to damage.
  std::string& bytes(const std::string& name);
  [[nodiscard]] std::uint64_t syncs() {
    const std::lock_guard lock(mutex_);
    return syncs_;
  }
  [[nodiscard]] std::size_t longest_write() {
    const std::lock_guard lock(mutex_);
    return longest_write_;
  }

  struct Node {
    std::string now;              // what the kernel has
    std::string stable;           // what the disk has
    std::uint64_t synced_by = 0;  // the last sync that began
  };

 private:
  friend class FaultFile;
  [[nodiscard]] std::optional<Code> fault(Op op, const std::string& name) {
    return fault_ ? fault_(op, name) : std::nullopt;
  }
  [[nodiscard]] bool has_room(std::uint64_t more) const {
    std::uint64_t used = more;
    for (const auto& [name, node] : nodes_) used += node->now.size();
    return used <= room_;
  }
  std::mutex mutex_;
  Fault fault_;
  std::uint64_t room_ = UINT64_MAX;
  using Names = std::map<std::string, std::shared_ptr<Node>>;
  Names nodes_;
  std::vector<Names> past_ = {{}};  // the names at the last sync of names, and after each change
  std::mt19937_64 random_{7};
  std::uint64_t syncs_ = 0;
  std::uint64_t syncs_begun_ = 0;
  std::size_t longest_write_ = 0;
};

}  // namespace dlo::testing
