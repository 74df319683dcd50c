#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "dlo/broker/embedded/bytes.h"
#include "dlo/broker/embedded/id_generation.h"
#include "dlo/core/time.h"

namespace dlo::embedded {

/// Which dedupe ids were accepted within the last `window`, and under which position. At most 24
/// bytes an id: the window is cut into generations, and the oldest goes as a whole. No call takes
/// longer the more ids there are: what is too old is freed bit by bit, and a checkpoint takes
/// snapshots, which it reads while work goes on.
class DedupeBook {
 public:
  explicit DedupeBook(Millis window = Millis{0}) noexcept : window_(window) {}

  [[nodiscard]] bool on() const noexcept { return window_ > Millis{0}; }
  void set_window(Millis window) noexcept { window_ = window; }

  /// Whose id it is. A replay is sent again by whoever comes back after a crash, however long that
  /// takes, and its id names one replay only: while nobody was there its window stands still. An
  /// id of a sender may mean something else the next day.
  enum class Whose : std::uint8_t { sender, replay };

  /// The position under which `id` was accepted, if that is not too long ago.
  [[nodiscard]] std::optional<std::uint64_t> find(const IdDigest& id, TimePoint now,
                                                  Whose whose = Whose::sender) const noexcept;

  /// Everything so far was read back, and work begins.
  void opened(TimePoint now) noexcept { opened_ = now; }

  /// Positions never fall. Forgets what is too old on the way.
  void remember(const IdDigest& id, std::uint64_t position, TimePoint now);

  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;

  /// One for each generation, oldest first. Cheap: nothing is copied but where pages lie.
  [[nodiscard]] std::vector<IdSnapshot> snapshots() const;
  /// Some ids of a snapshot, from `part` on, which becomes the first that is left; in one piece.
  static void save(const IdSnapshot& snapshot, std::size_t& part, ByteWriter& out);
  /// Reads a piece back, in the order they were written. False if the bytes are not one.
  [[nodiscard]] bool load(ByteReader& in);

 private:
  static constexpr int generations_a_window = 8;

  void forget(TimePoint now);
  [[nodiscard]] TimePoint kept_until(TimePoint at) const noexcept;

  Millis window_;
  std::optional<TimePoint> opened_;
  std::deque<IdGeneration> generations_;  // oldest first; the last one grows
  std::deque<IdGeneration> gone_;         // too old, not yet freed
};

}  // namespace dlo::embedded
