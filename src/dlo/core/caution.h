#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/profile.h"

namespace dlo {

/// What somebody risks who follows these settings ("invalid messages are dropped").
[[nodiscard]] std::vector<std::string> risks_of(const Profile& profile);

/// One line for whoever uses `profile`, which is the built-in one called `name` or made of it:
/// which variant is recommended, and what it does not risk. Empty: nothing better is to be had.
[[nodiscard]] std::string caution(const Profile& profile, std::string_view name);

}  // namespace dlo
