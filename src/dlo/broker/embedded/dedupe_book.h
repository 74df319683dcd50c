#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/broker/embedded/bytes.h"
#include "dlo/core/time.h"

namespace dlo::embedded {

/// 96 bits of the SHA-256 of a dedupe id: two ids of ten million share it with probability 1e-15.
struct IdDigest {
  std::uint64_t high = 0;
  std::uint32_t low = 0;
  auto operator<=>(const IdDigest&) const = default;
};
[[nodiscard]] IdDigest digest_of(std::string_view dedupe_id);

/// Which dedupe ids were accepted within the last `window`, and under which position. About 21
/// bytes an id: the window is cut into generations; the youngest is a hash table, the others are
/// sorted arrays, and the oldest goes as a whole.
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

  void save(ByteWriter& out) const;
  /// False if the bytes are not what `save` wrote.
  [[nodiscard]] bool load(ByteReader& in);

 private:
  struct Entry {
    std::uint32_t digest[3] = {0, 0, 0};
    std::uint32_t position = 0;  // counted from the generation's first
    std::uint32_t millis = 0;    // ... likewise; UINT32_MAX: empty place of a table
    [[nodiscard]] IdDigest id() const noexcept {
      return {std::uint64_t{digest[0]} << 32 | digest[1], digest[2]};
    }
  };
  struct Generation {
    TimePoint began{};
    TimePoint newest{};
    std::uint64_t first_position = 0;
    std::vector<Entry> entries;
    std::size_t count = 0;
  };
  static constexpr std::uint32_t empty = UINT32_MAX;
  static constexpr int generations_a_window = 8;

  [[nodiscard]] const Entry* find_in_table(const Generation& generation,
                                           const IdDigest& id) const noexcept;
  [[nodiscard]] static const Entry* find_sorted(const Generation& generation,
                                                const IdDigest& id) noexcept;
  [[nodiscard]] std::optional<std::uint64_t> answer(const Generation& generation,
                                                    const Entry* entry,
                                                    TimePoint now) const noexcept;
  [[nodiscard]] bool fits(const Generation& generation, std::uint64_t position,
                          TimePoint now) const noexcept;
  static void close(Generation& generation);
  static void save(const Generation& generation, ByteWriter& out);
  static void insert(std::vector<Entry>& table, const Entry& entry) noexcept;
  void forget(TimePoint now);

  Millis window_;
  std::deque<Generation> closed_;  // oldest first, sorted
  Generation young_;               // a table
};

}  // namespace dlo::embedded
