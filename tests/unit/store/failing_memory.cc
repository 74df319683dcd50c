#include "unit/store/failing_memory.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace dlo::testing {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

std::atomic<bool> armed{false};
std::atomic<std::int64_t> left{never};  // negative once they fail
std::atomic<std::int64_t> last{0};
thread_local bool is_spared = false;

void* allocate(std::size_t size) {
  const bool counts = armed.load(std::memory_order_relaxed) && !is_spared;
  if (counts) {
    const std::int64_t place = left.fetch_sub(1);
    if (place <= 0 && place >= last) throw std::bad_alloc();
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

FailingMemory::FailingMemory(std::uint64_t nth, std::uint64_t times) {
  is_spared = true;
  last = 1 - static_cast<std::int64_t>(times);
  left = static_cast<std::int64_t>(nth);
  armed = true;
}

FailingMemory::~FailingMemory() {
  armed = false;
  left = never;
  is_spared = false;
}

bool FailingMemory::has_struck() const noexcept {
  return left < 0;
}

}  // namespace dlo::testing

// The whole program's. The other forms are replaced as well: what one of them gives, any may free.
void* operator new(std::size_t size) {
  return dlo::testing::allocate(size);
}
void* operator new[](std::size_t size) {
  return dlo::testing::allocate(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
