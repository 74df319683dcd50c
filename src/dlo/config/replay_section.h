#pragma once

#include "dlo/core/text_tree.h"

namespace dlo {

struct ConfigReading;

/// `replay: {redirects: [{from, type, to}, …]}`: where dead letters go when they are sent back.
/// Fills `reading.config.redirects` and adds whatever is wrong to the problems.
void read_replay_section(const TextNode& section, ConfigReading& reading);

}  // namespace dlo
