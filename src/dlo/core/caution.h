#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/profile.h"

namespace dlo {

/// What somebody risks who follows these settings, each with the setting that does it ("invalid
/// messages are dropped (invalid: drop)"). The data is judged, never a name: `standard` and every
/// built-in `+safe` profile risk nothing. A rule of a document that nothing carries out is said to
/// be just that.
[[nodiscard]] std::vector<std::string> risks_of(const Profile& profile);

/// The same in one line, with the variant of `base` that risks nothing if there is one. `base`: the
/// built-in profile that it was made of; empty: itself. Empty: it risks nothing.
[[nodiscard]] std::string caution(const Profile& profile, std::string_view base = {});

}  // namespace dlo
