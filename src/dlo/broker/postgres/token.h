#pragma once

#include <cstdint>

#include "dlo/core/id.h"

namespace dlo::postgres {

/// A lease is known by the place of its message and a number that no other lease ever has. The
/// lowest bit says whether the message has a key, so that whoever ends leases of messages without
/// one need not look after keys.
[[nodiscard]] inline LeaseToken token_of(std::int64_t place, std::int64_t lease, bool keyed) {
  return LeaseToken{{static_cast<std::uint64_t>(place) << 1U | (keyed ? 1U : 0U),
                     static_cast<std::uint64_t>(lease)}};
}
[[nodiscard]] inline std::int64_t place_in(const LeaseToken& token) {
  return static_cast<std::int64_t>(token.high >> 1U);
}
[[nodiscard]] inline std::int64_t lease_in(const LeaseToken& token) {
  return static_cast<std::int64_t>(token.low);
}
[[nodiscard]] inline bool is_keyed(const LeaseToken& token) {
  return (token.high & 1U) != 0;
}

}  // namespace dlo::postgres
