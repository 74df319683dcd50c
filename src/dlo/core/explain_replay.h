#pragma once

#include <span>

#include "dlo/core/inquiry.h"
#include "dlo/core/redirect.h"

namespace dlo {

/// Adds where it would go if it were sent back, in case there are rules about that.
void explain_replay(Explanation& answer, std::span<const RedirectRule> rules,
                    const Inquiry& inquiry, const CaseFile& file);

}  // namespace dlo
