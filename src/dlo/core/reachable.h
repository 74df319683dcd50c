#pragma once

#include <set>
#include <string_view>

#include "dlo/core/profile.h"

namespace dlo {

/// Every category a failure can end up in. The names are the profile's.
[[nodiscard]] std::set<std::string_view> reachable_categories(const Profile& profile);

}  // namespace dlo
