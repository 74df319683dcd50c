#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "dlo/core/time.h"

namespace dlo::embedded {

/// Moments are kept in 48 bits: milliseconds since 1970, for the next 8900 years. The last one
/// stands for the end of time.
inline constexpr std::uint64_t end_of_time = (std::uint64_t{1} << 48) - 1;
[[nodiscard]] inline std::uint64_t pack(TimePoint at) noexcept {
  const auto count = std::max<Millis::rep>(at.time_since_epoch().count(), 0);
  return std::min(static_cast<std::uint64_t>(count), end_of_time);
}
[[nodiscard]] inline TimePoint unpack(std::uint64_t at) noexcept {
  return at == end_of_time ? TimePoint::max() : TimePoint{Millis{static_cast<Millis::rep>(at)}};
}

static_assert(std::endian::native == std::endian::little, "records are written as they lie");

/// Appends numbers and texts to a string. Little endian; FORMAT.md says what goes where.
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) noexcept : out_(out) {}

  template <typename T>
  void fixed(T value, std::size_t size = sizeof(T)) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out_.append(bytes, size);
  }
  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u16(std::uint16_t value) { fixed(value); }
  void u32(std::uint32_t value) { fixed(value); }
  void u64(std::uint64_t value) { fixed(value); }
  void moment(TimePoint at) { fixed(pack(at), 6); }
  void number(std::uint64_t value) {  // seven bits a byte, the lowest first
    for (; value >= 0x80; value >>= 7) u8(static_cast<std::uint8_t>(value | 0x80));
    u8(static_cast<std::uint8_t>(value));
  }
  void text(std::string_view value) {
    number(value.size());
    out_.append(value);
  }

 private:
  std::string& out_;
};

/// Reads them back. Past the end it answers zeros and remembers: check `ok` once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) noexcept : rest_(bytes) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

  std::uint64_t fixed(std::size_t size) noexcept {
    const auto bytes = take(size);
    std::uint64_t value = 0;
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::uint8_t u8() noexcept { return static_cast<std::uint8_t>(fixed(1)); }
  std::uint16_t u16() noexcept { return static_cast<std::uint16_t>(fixed(2)); }
  std::uint32_t u32() noexcept { return static_cast<std::uint32_t>(fixed(4)); }
  std::uint64_t u64() noexcept { return fixed(8); }
  TimePoint moment() noexcept { return unpack(fixed(6)); }
  std::uint64_t number() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view text() noexcept {
    const auto size = number();
    return take(size);
  }
  std::string_view take(std::uint64_t size) noexcept {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace dlo::embedded
