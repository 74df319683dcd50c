#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "dlo/config/values.h"
#include "dlo/core/text_tree.h"

namespace dlo {

struct ConfigReading;

/// What sections whose entries users name have in common. Whatever is wrong is a problem of
/// `reading`.

struct NumberBounds {
  ValueKind kind = ValueKind::count;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};
/// A count, or a duration in milliseconds; nothing if it is none or out of bounds.
[[nodiscard]] std::optional<std::uint64_t> read_bounded(const std::string& path,
                                                        const TextNode& value,
                                                        const NumberBounds& bounds,
                                                        ConfigReading& reading);

/// Whether the section `name` holds entries by name, and at most so many.
[[nodiscard]] bool holds_entries(const std::string& name, const TextNode& section, std::size_t most,
                                 ConfigReading& reading);

}  // namespace dlo
