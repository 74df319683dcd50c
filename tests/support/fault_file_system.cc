#include "support/fault_file_system.h"

#include <algorithm>

namespace dlo::testing {

using Op = FaultFileSystem::Op;

namespace {
Error failed(Code code, const std::string& name) {
  return Error{code, "fault", name + ": made to fail."};
}
}  // namespace

class FaultFile final : public File {
 public:
  FaultFile(FaultFileSystem& owner, std::shared_ptr<FaultFileSystem::Node> node, std::string name)
      : owner_(owner), node_(std::move(node)), name_(std::move(name)) {}

  Result<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    const std::lock_guard lock(owner_.mutex_);
    auto code = owner_.fault(Op::write, name_);
    if (!code && grows_too_much(offset + bytes.size())) code = Code::disk_full;
    owner_.longest_write_ = std::max(owner_.longest_write_, bytes.size());
    if (code) bytes = bytes.substr(0, owner_.random_() % (bytes.size() + 1));
    if (node_->now.size() < offset + bytes.size()) node_->now.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), node_->now.begin() + static_cast<std::ptrdiff_t>(offset));
    if (code) return failed(*code, name_);
    return {};
  }

  Result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t size) override {
    const std::lock_guard lock(owner_.mutex_);
    if (const auto code = owner_.fault(Op::read, name_)) return failed(*code, name_);
    if (offset >= node_->now.size()) return std::size_t{0};
    const std::size_t there = std::min<std::size_t>(size, node_->now.size() - offset);
    std::copy_n(node_->now.begin() + static_cast<std::ptrdiff_t>(offset), there, into);
    return there;
  }

  // A fault may take its time: others go on meanwhile, and what they write is not in this sync.
  Result<void> sync() override {
    std::unique_lock lock(owner_.mutex_);
    const auto number = ++owner_.syncs_begun_;
    if (const auto fault = owner_.fault_) {
      std::string was = node_->now;
      lock.unlock();
      const auto code = fault(Op::sync, name_);
      lock.lock();
      if (code) return failed(*code, name_);
      if (number > node_->synced_by) node_->stable = std::move(was);
    } else {
      node_->stable = node_->now;
    }
    node_->synced_by = std::max(node_->synced_by, number);
    ++owner_.syncs_;
    return {};
  }

  Result<std::uint64_t> size() override {
    const std::lock_guard lock(owner_.mutex_);
    return static_cast<std::uint64_t>(node_->now.size());
  }

  Result<void> allocate(std::uint64_t size) override {
    const std::lock_guard lock(owner_.mutex_);
    const auto code = owner_.fault(Op::write, name_);
    if (code) return failed(*code, name_);
    if (grows_too_much(size)) return failed(Code::disk_full, name_);
    if (node_->now.size() < size) node_->now.resize(size);
    return {};
  }

  Result<void> truncate(std::uint64_t size) override {
    const std::lock_guard lock(owner_.mutex_);
    if (const auto code = owner_.fault(Op::truncate, name_)) return failed(*code, name_);
    node_->now.resize(size);
    return {};
  }

 private:
  [[nodiscard]] bool grows_too_much(std::uint64_t size) const {
    return size > node_->now.size() && !owner_.has_room(size - node_->now.size());
  }
  FaultFileSystem& owner_;
  std::shared_ptr<FaultFileSystem::Node> node_;
  std::string name_;
};

Result<std::unique_ptr<File>> FaultFileSystem::open(const std::string& name, OpenMode mode) {
  const std::lock_guard lock(mutex_);
  if (const auto code = fault(Op::open, name)) return failed(*code, name);
  auto found = nodes_.find(name);
  if (found == nodes_.end()) {
    if (mode != OpenMode::create) return failed(Code::not_found, name);
    found = nodes_.emplace(name, std::make_shared<Node>()).first;
    past_.push_back(nodes_);
  } else if (mode == OpenMode::create) {
    return failed(Code::conflict, name);
  }
  return std::unique_ptr<File>(std::make_unique<FaultFile>(*this, found->second, name));
}

Result<std::vector<std::string>> FaultFileSystem::list() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

Result<void> FaultFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  if (const auto code = fault(Op::rename, from)) return failed(*code, from);
  auto node = nodes_.extract(from);
  if (node.empty()) return failed(Code::not_found, from);
  nodes_[to] = std::move(node.mapped());
  past_.push_back(nodes_);
  return {};
}

Result<void> FaultFileSystem::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto code = fault(Op::remove, name)) return failed(*code, name);
  nodes_.erase(name);
  past_.push_back(nodes_);
  return {};
}

Result<void> FaultFileSystem::sync_names() {
  const std::lock_guard lock(mutex_);
  if (const auto code = fault(Op::sync_names, "")) return failed(*code, "names");
  past_ = {nodes_};
  return {};
}

namespace {

constexpr std::size_t sector = 512;

/// What a disk without power makes of one sector: the old one, the new one, or a part of each.
std::string after_cut(std::string_view before, std::string_view now, std::mt19937_64& random) {
  const auto chance = random() % 8;
  if (chance < 3) return std::string(before);
  if (chance < 6) return std::string(now);
  const auto torn_at = random() % (now.size() + 1);
  if (chance == 6) std::swap(before, now);
  return std::string(now.substr(0, torn_at)).append(before.substr(torn_at));
}

}  // namespace

void FaultFileSystem::power_cut(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  std::mt19937_64 random(seed);
  nodes_ = past_[random() % past_.size()];
  past_ = {nodes_};
  for (auto& [name, node] : nodes_) {
    const auto size = (random() % 2 == 0 ? node->now : node->stable).size();
    node->stable.resize(size);
    node->now.resize(size);
    std::string after;
    for (std::size_t at = 0; at < size; at += sector) {
      after += after_cut(std::string_view(node->stable).substr(at, sector),
                         std::string_view(node->now).substr(at, sector), random);
    }
    node = std::make_shared<Node>(Node{after, after});
  }
}

std::string& FaultFileSystem::bytes(const std::string& name) {
  return nodes_.at(name)->now;
}

}  // namespace dlo::testing
