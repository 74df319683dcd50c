#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace dlo::embedded {

/// Finds numbers of 24 bits by a hash of 64, in five bytes each. It has as many shelves as it needs
/// and grows by splitting one of them (linear hashing), so that no call takes long; a shelf is a
/// list without holes, and eight bits of the hash beside each number tell who is worth a look.
class IdIndex {
 public:
  static constexpr unsigned number_bits = 24;
  static constexpr std::uint32_t limit = 1U << number_bits;

  /// The number that was last added under `hash` and that `is_it` says yes to.
  template <typename F>
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t hash, F&& is_it) const {
    if (shelves_.empty()) return std::nullopt;
    const auto mark = mark_of(hash);
    const Shelf& shelf = shelves_[shelf_of(hash)];
    for (std::size_t i = shelf.size(); i-- > 0;) {
      const auto number = shelf[i] & (limit - 1);
      if (shelf[i] >> number_bits == mark && is_it(number)) return number;
    }
    return std::nullopt;
  }

  /// `hash_of` says under which hash a number was added.
  template <typename F>
  void add(std::uint64_t hash, std::uint32_t number, F&& hash_of) {
    if (count_ >= shelves_.size() * per_shelf) split(hash_of);
    put(shelves_[shelf_of(hash)], mark_of(hash) << number_bits | number);
    ++count_;
  }

  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t total = shelves_.size() * sizeof(Shelf);
    for (const Shelf& shelf : shelves_) total += shelf.capacity() * sizeof(std::uint32_t);
    return total;
  }

  /// Gives one shelf back to the system. False: there is none left.
  bool shrink() noexcept {
    if (shelves_.empty()) return false;
    shelves_.pop_back();
    return true;
  }

 private:
  static constexpr std::size_t per_shelf = 96;
  static constexpr std::size_t step = 8;
  using Shelf = std::vector<std::uint32_t>;

  [[nodiscard]] static std::uint32_t mark_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 56);
  }
  [[nodiscard]] std::size_t shelf_of(std::uint64_t hash) const noexcept {
    const auto round = std::bit_floor(shelves_.size());
    const auto at = static_cast<std::size_t>(hash) & (2 * round - 1);
    return at < shelves_.size() ? at : at & (round - 1);
  }
  static void put(Shelf& shelf, std::uint32_t word) {
    if (shelf.size() == shelf.capacity()) shelf.reserve(shelf.size() + step);
    shelf.push_back(word);
  }
  template <typename F>
  void split(F& hash_of) {
    const auto last = shelves_.size();
    shelves_.emplace_back();
    if (last == 0) return;
    const Shelf old = std::exchange(shelves_[last - std::bit_floor(last)], {});
    for (const auto word : old) put(shelves_[shelf_of(hash_of(word & (limit - 1)))], word);
  }

  std::deque<Shelf> shelves_;
  std::size_t count_ = 0;
};

}  // namespace dlo::embedded
