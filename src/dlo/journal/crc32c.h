#pragma once

#include <cstdint>
#include <string_view>

namespace dlo {

/// CRC-32C (Castagnoli). crc32c(crc32c(0, a), b) == crc32c(0, a + b).
[[nodiscard]] std::uint32_t crc32c(std::uint32_t before, std::string_view bytes) noexcept;

/// The same without special instructions; for machines that lack them and for the tests.
[[nodiscard]] std::uint32_t crc32c_portable(std::uint32_t before, std::string_view bytes) noexcept;

}  // namespace dlo
