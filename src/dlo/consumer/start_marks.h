#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/core/id.h"
#include "dlo/core/message.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo::consumer {

/// Which messages of a source run here, in a file of this node that is part of the process' memory
/// (R1, R6): a mark costs two stores and survives the death of the process, not that of the
/// machine. What is found at the next start was running when the last one died. It is advice: a
/// mark that is lost or wrong costs a message its place in the crowd, never the message.
/// Threads  Any method from any thread.
class StartMarks {
 public:
  /// Messages that are known by the same key are taken for the same one.
  using Key = Id128;
  using Place = std::uint32_t;
  /// So many run at the same time at most; what runs beyond that is not marked.
  static constexpr Place places = 4095;
  /// Marks that nobody asked for in so long are forgotten: their messages are gone.
  static constexpr Millis kept_for = std::chrono::hours{14 * 24};

  struct Mark {
    Place place = 0;
    std::uint32_t attempt = 0;  // the start that has no end
    TimePoint first_at{};       // when it was started first
  };

  [[nodiscard]] static Key key_of(const Message& message) noexcept;
  /// Refused if another process has the file, or the disk does not give it.
  [[nodiscard]] static Result<std::unique_ptr<StartMarks>> open(const std::string& path,
                                                                TimePoint now);
  /// The file of a source in a folder, which is made if it is not there.
  [[nodiscard]] static Result<std::unique_ptr<StartMarks>> open_in(const std::string& folder,
                                                                   const std::string& source,
                                                                   TimePoint now);
  ~StartMarks();
  StartMarks(const StartMarks&) = delete;
  StartMarks& operator=(const StartMarks&) = delete;

  /// Whether there is anything to be found.
  [[nodiscard]] bool any_left() const;
  /// Of a process before this one; it is the caller's from now on.
  [[nodiscard]] std::optional<Mark> find(const Key& key);

  /// Empty: all places are taken.
  [[nodiscard]] std::optional<Place> put(const Key& key, std::uint32_t attempt, TimePoint now);
  /// The same message is started once more.
  void raise(Place place, std::uint32_t attempt);
  /// It ended, one way or another.
  void remove(Place place);
  /// It was given back as it was found: whoever gets it next finds the mark.
  void leave(const Key& key, const Mark& mark);

 private:
  struct Slot;
  StartMarks(int file, Slot* slots);
  void read(TimePoint now);

  const int file_;
  Slot* const slots_;
  mutable std::mutex mutex_;
  std::vector<Place> free_;
  std::unordered_multimap<Key, Mark> left_;
};

}  // namespace dlo::consumer
