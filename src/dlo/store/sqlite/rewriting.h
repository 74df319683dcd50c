#pragma once

#include "dlo/store/rewriter.h"
#include "dlo/store/sqlite/session.h"

namespace dlo::sqlite {

/// `Rewriter::rewrite` within the writer's transaction.
[[nodiscard]] Result<Rewritten> rewrite_records(Session& session, std::int64_t after,
                                                std::size_t limit, const Rewriter::Make& make);

}  // namespace dlo::sqlite
