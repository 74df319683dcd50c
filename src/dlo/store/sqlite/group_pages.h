#pragma once

#include "dlo/store/query.h"
#include "dlo/store/sqlite/readers.h"

namespace dlo::sqlite {

/// The groups of `request`, into `answer`. A page begins where its index says, however deep it
/// lies. Throws `Failed`.
void read_groups(Readers::Turn& turn, const AggregateRequest& request, Aggregate& answer);

}  // namespace dlo::sqlite
