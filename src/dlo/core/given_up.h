#pragma once

#include "dlo/core/decide.h"

namespace dlo {

/// Whoever holds a message has given up: the attempt that `failure` ended was the last, and its
/// number is the limit. A retry becomes a death, whatever checks, categories and policies would
/// allow, under the name the profile gives to a message that reached its limit; every other verdict
/// stays. Pure and total.
[[nodiscard]] Decision given_up(Decision decision, const Profile& profile, const Failure& failure);

}  // namespace dlo
