#include "peers/ceiling_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "peers/ceiling_wire.h"
#include "peers/support/failure.h"

namespace dlo::peers::ceiling {
namespace {

constexpr std::size_t small_group = 64 << 10;

[[noreturn]] void file_error(const char* what) {
  fail(std::string{"the log: "} + what + ": " + std::strerror(errno));
}

void write_all(int file, std::string_view bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const auto count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0) file_error("write");
    bytes.remove_prefix(static_cast<std::size_t>(count));
    at += static_cast<std::uint64_t>(count);
  }
}

}  // namespace

Log::Log(const std::string& file, std::size_t capacity)
    : file_(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)),
      event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      capacity_(capacity) {
  if (file_ < 0) file_error("open");
  const std::string zeros(4 << 20, '\0');
  for (std::size_t at = 0; at < capacity; at += zeros.size()) {
    write_all(file_, std::string_view{zeros}.substr(0, std::min(zeros.size(), capacity - at)), at);
  }
  if (::fsync(file_) != 0) file_error("fsync");
  void* const map = ::mmap(nullptr, capacity, PROT_READ, MAP_SHARED, file_, 0);
  if (map == MAP_FAILED) file_error("map");
  map_ = static_cast<const char*>(map);
  syncer_ = std::jthread{[this](const std::stop_token& stop) { sync_in_background(stop); }};
}

Log::~Log() {
  syncer_.request_stop();
  syncer_.join();
  ::close(event_);
  ::close(file_);
}

std::uint64_t Log::append(std::uint8_t type, std::string_view bytes) {
  const std::size_t header = sizeof(Length) + sizeof type;
  if (end_ + header + bytes.size() > capacity_) fail("the log is full: start it with more room");
  ceiling::append(forming_, static_cast<Length>(bytes.size()));
  ceiling::append(forming_, type);
  forming_ += bytes;
  end_ += header + bytes.size();
  return end_ - bytes.size();
}

std::string_view Log::read(std::uint64_t at, std::size_t size) const {
  const std::uint64_t forming = end_ - forming_.size();
  const std::uint64_t flying = flying_end_ - flying_.size();
  if (at >= forming) return std::string_view{forming_}.substr(at - forming, size);
  if (at >= flying) return std::string_view{flying_}.substr(at - flying, size);
  return {map_ + at, size};
}

bool Log::commit() {
  flying_.swap(forming_);
  forming_.clear();
  flying_end_ = end_;
  if (flying_.size() <= small_group) {
    write_and_sync();
    return true;
  }
  busy_ = true;
  {
    const std::lock_guard lock{guard_};
    start_ = true;
  }
  wake_.notify_one();
  return false;
}

void Log::acknowledge_finished() {
  std::uint64_t count = 0;
  if (::read(event_, &count, sizeof count) == sizeof count) busy_ = false;
}

void Log::write_and_sync() const {
  write_all(file_, flying_, flying_end_ - flying_.size());
  if (::fdatasync(file_) != 0) file_error("fdatasync");
}

void Log::sync_in_background(const std::stop_token& stop) {
  while (true) {
    {
      std::unique_lock lock{guard_};
      if (!wake_.wait(lock, stop, [this] { return start_; })) return;
      start_ = false;
    }
    write_and_sync();
    const std::uint64_t one = 1;
    if (::write(event_, &one, sizeof one) < 0) file_error("signal");
  }
}

}  // namespace dlo::peers::ceiling
