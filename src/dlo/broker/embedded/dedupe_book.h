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

  /// The position under which `id` was accepted, if that is not too long ago.
  [[nodiscard]] std::optional<std::uint64_t> find(const IdDigest& id, TimePoint now) const noexcept;

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

  Millis window_;
  std::deque<IdGeneration> generations_;  // oldest first; the last one grows
  std::deque<IdGeneration> gone_;         // too old, not yet freed
};

}  // namespace dlo::embedded
