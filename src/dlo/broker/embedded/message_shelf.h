#pragma once

#include <cstddef>
#include <new>

namespace dlo::embedded {

/// Memory for messages that are read back. They come and go in lists, and the allocator's own shelf
/// holds seven of a kind: beyond those it joins and splits what is free, which cost a tenth of all
/// instructions from publication to completion. Each thread keeps a few dozen pieces of one size.
class MessageShelf {
 public:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool keeps = false;  // who uses what is gone must be found out
#elif defined(__has_feature)
  static constexpr bool keeps = !__has_feature(address_sanitizer);
#else
  static constexpr bool keeps = true;
#endif
  static constexpr std::size_t most = 64;  // a list as long as most are
  static void* take(std::size_t size);
  static void put(void* piece, std::size_t size) noexcept;
};

/// An allocator over it, for std::allocate_shared.
template <typename T>
struct ShelfAllocator {
  using value_type = T;
  ShelfAllocator() = default;
  template <typename U>
  ShelfAllocator(const ShelfAllocator<U>& /*same*/) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    return static_cast<T*>(MessageShelf::take(count * sizeof(T)));
  }
  void deallocate(T* piece, std::size_t count) noexcept {
    MessageShelf::put(piece, count * sizeof(T));
  }
  template <typename U>
  bool operator==(const ShelfAllocator<U>& /*same*/) const noexcept {
    return true;
  }
};

}  // namespace dlo::embedded
