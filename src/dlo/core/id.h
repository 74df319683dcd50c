#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dlo {

/// 128 bits, printed as 32 lower-case hex digits.
struct Id128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Id128&) const = default;
};

[[nodiscard]] std::string to_string(const Id128& id);

/// Empty unless `text` is exactly 32 hex digits.
[[nodiscard]] std::optional<Id128> parse_id(std::string_view text) noexcept;

/// Names one dead letter for ever. Derived, never drawn: see core/identity.h.
struct RecordId : Id128 {
  auto operator<=>(const RecordId&) const = default;
};

/// Proof of a live lease, and a fence: a holder whose lease ended can settle nothing with it.
/// Sixteen opaque bytes fit every broker (delivery tag + channel epoch, offset + epoch, GUID).
struct LeaseToken : Id128 {
  auto operator<=>(const LeaseToken&) const = default;
};

}  // namespace dlo

template <>
struct std::hash<dlo::Id128> {
  std::size_t operator()(const dlo::Id128& id) const noexcept {
    return id.high ^ (id.low * 0x9E3779B97F4A7C15ULL);
  }
};
template <>
struct std::hash<dlo::RecordId> : std::hash<dlo::Id128> {};
template <>
struct std::hash<dlo::LeaseToken> : std::hash<dlo::Id128> {};
