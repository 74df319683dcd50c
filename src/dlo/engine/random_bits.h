#pragma once

#include <cstdint>
#include <random>

namespace dlo {

/// 64 random bits, for decisions that take them as an argument. From any thread.
[[nodiscard]] inline std::uint64_t random_bits() {
  thread_local std::mt19937_64 generator(std::random_device{}());
  return generator();
}

}  // namespace dlo
