#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace dlo::postgres::wire {

// pg_type.dat: these numbers never change.
inline constexpr std::uint32_t bytea = 17, int8 = 20, int4 = 23, bytea_array = 1001,
                               int4_array = 1007, int8_array = 1016;

/// The most significant byte first.
template <typename Number>
void put(std::string& out, Number value) {
  const auto bits = static_cast<std::make_unsigned_t<Number>>(value);
  char bytes[sizeof(Number)];
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes[i] =
        static_cast<char>(static_cast<unsigned char>(bits >> (8U * (sizeof(Number) - 1 - i))));
  }
  out.append(bytes, sizeof(Number));
}

/// What an array of one dimension, from 1, begins with.
inline constexpr std::size_t array_head_size = 20;
inline std::string array_head(std::uint32_t element, std::size_t size, bool has_null = false) {
  std::string out;
  put<std::int32_t>(out, size == 0 ? 0 : 1);
  put<std::int32_t>(out, has_null ? 1 : 0);
  put(out, element);
  if (size == 0) return out;
  put(out, static_cast<std::int32_t>(size));
  put<std::int32_t>(out, 1);
  return out;
}

}  // namespace dlo::postgres::wire
