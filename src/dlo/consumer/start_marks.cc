#include "dlo/consumer/start_marks.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <string_view>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "dlo/core/field_hash.h"

namespace dlo::consumer {

/// As it is in the file; the first one names the format.
struct StartMarks::Slot {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::int64_t first_at = 0;
  std::uint32_t attempt = 0;  // 0: free. Written last
  std::uint32_t unused = 0;
};

namespace {

constexpr std::uint64_t magic = 0x316B72616D6F6C64;  // "dlomark1"
constexpr std::size_t looked_at = 4096;              // of a payload
constexpr std::size_t file_size = (std::size_t{StartMarks::places} + 1) * 32;

Error trouble(const std::string& path, const char* what) {
  return {Code::unavailable, "consumer.start_marks",
          "'" + path + "' cannot be " + what + ": " + std::strerror(errno)};
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15ULL;
  return (a ^ (b + odd + (a << 6U) + (a >> 2U))) * odd;
}

}  // namespace

/// Not the id of its record: that is worth a hash over everything, and this is on everybody's way.
StartMarks::Key StartMarks::key_of(const Message& message) noexcept {
  constexpr std::hash<std::string_view> hash;
  const std::string_view all =
      message.payload ? std::string_view(*message.payload) : std::string_view{};
  const std::uint64_t id = hash(message.id);
  return {mix(id, all.size()), mix(hash(all.substr(0, looked_at)), id)};
}

Result<std::unique_ptr<StartMarks>> StartMarks::open(const std::string& path, TimePoint now) {
  static_assert(sizeof(Slot) == 32);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (file < 0) return trouble(path, "opened");
  const auto give_up = [&](const char* what) {
    Error error = trouble(path, what);
    ::close(file);
    return error;
  };
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) return give_up("locked, another server has it");
  struct stat found{};
  if (::fstat(file, &found) != 0) return give_up("looked at");
  if (found.st_size != file_size && ::ftruncate(file, 0) != 0) return give_up("emptied");
  // Given now, or a full disk would end the process when a mark is made.
  if (const int failed = ::posix_fallocate(file, 0, file_size); failed != 0) {
    errno = failed;
    return give_up("given its place on the disk");
  }
  void* const memory = ::mmap(nullptr, file_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return give_up("mapped");
  std::unique_ptr<StartMarks> marks(new StartMarks(file, static_cast<Slot*>(memory)));
  marks->read(now);
  return marks;
}

/// Sources may be called anything; files may not.
Result<std::unique_ptr<StartMarks>> StartMarks::open_in(const std::string& folder,
                                                        const std::string& source, TimePoint now) {
  if (::mkdir(folder.c_str(), 0750) != 0 && errno != EEXIST) return trouble(folder, "made");
  FieldHash name;
  name.field(source);
  return open(folder + "/" + to_string(name.id()), now);
}

StartMarks::StartMarks(int file, Slot* slots) : file_(file), slots_(slots) {}

StartMarks::~StartMarks() {
  ::munmap(slots_, file_size);
  ::close(file_);
}

void StartMarks::read(TimePoint now) {
  if (slots_[0].high != magic) {
    std::fill_n(slots_, places + 1, Slot{});
    slots_[0].high = magic;
  }
  for (Place place = places; place > 0; --place) {
    Slot& slot = slots_[place];
    const TimePoint first{Millis{slot.first_at}};
    if (slot.attempt != 0 && first <= now && first > now - kept_for) {
      left_.emplace(Key{slot.high, slot.low}, Mark{place, slot.attempt, first});
    } else {
      slot.attempt = 0;
      free_.push_back(place);
    }
  }
}

bool StartMarks::any_left() const {
  const std::lock_guard lock(mutex_);
  return !left_.empty();
}

std::optional<StartMarks::Mark> StartMarks::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = left_.find(key);
  if (found == left_.end()) return std::nullopt;
  const Mark mark = found->second;
  left_.erase(found);
  return mark;
}

std::optional<StartMarks::Place> StartMarks::put(const Key& key, std::uint32_t attempt,
                                                 TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::nullopt;
  const Place place = free_.back();
  free_.pop_back();
  Slot& slot = slots_[place];
  slot.high = key.high;
  slot.low = key.low;
  slot.first_at = now.time_since_epoch().count();
  std::atomic_ref(slot.attempt).store(attempt, std::memory_order_release);
  return place;
}

void StartMarks::raise(Place place, std::uint32_t attempt) {
  std::atomic_ref(slots_[place].attempt).store(attempt, std::memory_order_release);
}

void StartMarks::remove(Place place) {
  std::atomic_ref(slots_[place].attempt).store(0, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  free_.push_back(place);
}

void StartMarks::leave(const Key& key, const Mark& mark) {
  raise(mark.place, mark.attempt);
  const std::lock_guard lock(mutex_);
  left_.emplace(key, mark);
}

}  // namespace dlo::consumer
