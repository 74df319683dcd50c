#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace dlo::peers::ceiling {

/// An append-only file that is written and allocated beforehand, so that a sync has no metadata to
/// journal. Everything appended since the last group becomes the next one, with one fdatasync. Used
/// by one thread.
class Log {
 public:
  Log(const std::string& file, std::size_t capacity);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Appends a record to the group that is forming; returns where `bytes` are.
  std::uint64_t append(std::uint8_t type, std::string_view bytes);

  /// What append() put there. Valid until the next call.
  [[nodiscard]] std::string_view read(std::uint64_t at, std::size_t size) const;

  /// True while a group is being synced in the background.
  [[nodiscard]] bool busy() const noexcept { return busy_; }

  /// Makes what was appended durable: a small group at once (returns true), because handing it to a
  /// thread and back costs more than it hides; a large one in the background (returns false), and
  /// then finished() becomes readable. Not while busy().
  bool commit();

  /// The descriptor to poll; call acknowledge_finished() when it can be read.
  [[nodiscard]] int finished() const noexcept { return event_; }
  void acknowledge_finished();

 private:
  void write_and_sync() const;
  void sync_in_background(const std::stop_token& stop);

  int file_;
  int event_;
  std::size_t capacity_;
  const char* map_;
  std::string forming_;
  std::string flying_;
  std::uint64_t end_ = 0;         // of everything appended
  std::uint64_t flying_end_ = 0;  // of the group that is on its way to the disk or there
  bool busy_ = false;
  std::mutex guard_;
  std::condition_variable_any wake_;
  bool start_ = false;
  std::jthread syncer_;
};

}  // namespace dlo::peers::ceiling
