#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dlo::peers::ceiling {

/// A request is its length (4 bytes, what follows), an Op and its data; a reply is its length and
/// its data. Requests are answered in order. Numbers are little-endian.
enum class Op : std::uint8_t {
  put = 1,      // body -> id
  lease = 2,    // how many (4 bytes) -> (id, length of the body in 4 bytes, body) each
  done = 3,     // ids -> nothing
  retry = 4,    // ids -> nothing
  dead = 5,     // ids -> nothing
  redrive = 6,  // nothing -> how many
  tally = 7,    // nothing -> ready, delayed, dead
};

using Id = std::uint64_t;
using Length = std::uint32_t;

template <typename Number>
void append(std::string& out, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

/// Takes a number off the front.
template <typename Number>
Number take(std::string_view& bytes) {
  Number number;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

/// The length of the frame at the front of `bytes` with its own length; 0 if it has not all come.
inline std::size_t whole_frame(std::string_view bytes) {
  if (bytes.size() < sizeof(Length)) return 0;
  const std::size_t size = sizeof(Length) + take<Length>(bytes);
  return bytes.size() + sizeof(Length) < size ? 0 : size;
}

}  // namespace dlo::peers::ceiling
