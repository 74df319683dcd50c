#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "dlo/broker/embedded/bytes.h"
#include "dlo/broker/embedded/id_index.h"
#include "dlo/core/time.h"

namespace dlo::embedded {

/// 96 bits of the SHA-256 of a dedupe id: two ids of ten million share it with probability 1e-15.
struct IdDigest {
  std::uint64_t high = 0;
  std::uint32_t low = 0;
  auto operator<=>(const IdDigest&) const = default;
};
[[nodiscard]] IdDigest digest_of(std::string_view dedupe_id);

/// An id that was accepted, when, and under which position.
struct RememberedId {
  IdDigest id;
  std::uint64_t position = 0;
  TimePoint at{};
};

/// Ids in the order they came: 18 bytes each, in pages that never change once written, so that a
/// checkpoint can read them while others are added.
struct IdPage {
  struct Packed {
    std::uint8_t bytes[18];
  };
  std::uint64_t first_position = 0;
  std::uint64_t began = 0;  // moments are counted from here
  std::uint32_t count = 0;
  std::uint32_t capacity = 0;
  std::unique_ptr<Packed[]> ids;

  [[nodiscard]] RememberedId at(std::uint32_t index) const noexcept;
  [[nodiscard]] IdDigest digest(std::uint32_t index) const noexcept;
  /// False if it does not fit: another page has to begin.
  [[nodiscard]] bool add(const RememberedId& id) noexcept;
};

/// The ids of a generation as they were at one moment. Read without the lock.
struct IdSnapshot {
  struct Part {
    std::shared_ptr<const IdPage> page;
    std::uint32_t count = 0;
  };
  TimePoint began{};
  TimePoint newest{};
  std::uint64_t first_position = 0;
  std::vector<Part> parts;
};

/// The dedupe ids of one part of a window: about 23 bytes each, whatever their number, and no call
/// that takes longer the more there are.
class IdGeneration {
 public:
  IdGeneration(TimePoint began, std::uint64_t first_position) noexcept
      : began_(began), newest_(began), first_position_(first_position) {}
  IdGeneration(IdGeneration&&) noexcept = default;
  IdGeneration& operator=(IdGeneration&&) noexcept = default;
  IdGeneration(const IdGeneration&) = delete;  // pages are shared with snapshots only
  IdGeneration& operator=(const IdGeneration&) = delete;
  ~IdGeneration() = default;

  [[nodiscard]] TimePoint began() const noexcept { return began_; }
  [[nodiscard]] TimePoint newest() const noexcept { return newest_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// Whether one more may join, if a generation is to last `share` at most.
  [[nodiscard]] bool takes(std::uint64_t position, TimePoint now, Millis share) const noexcept;
  void add(const RememberedId& id);
  [[nodiscard]] std::optional<RememberedId> find(const IdDigest& id) const noexcept;

  [[nodiscard]] IdSnapshot snapshot() const;
  /// Gives a little of its memory back. False: there is nothing left of it.
  bool dissolve() noexcept;

 private:
  static constexpr unsigned page_bits = 10;
  static constexpr std::uint32_t largest_page = 1U << page_bits;
  static constexpr std::uint32_t most_pages = IdIndex::limit / largest_page;

  void begin_page(const RememberedId& id);
  [[nodiscard]] IdDigest digest(std::uint32_t number) const noexcept {
    return pages_[number >> page_bits]->digest(number & (largest_page - 1));
  }

  TimePoint began_;
  TimePoint newest_;
  std::uint64_t first_position_;
  std::size_t count_ = 0;
  std::vector<std::shared_ptr<IdPage>> pages_;
  IdIndex index_;
};

}  // namespace dlo::embedded
