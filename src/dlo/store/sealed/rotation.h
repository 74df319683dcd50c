#pragma once

#include "dlo/store/rewriter.h"
#include "dlo/store/sealed/sealing.h"
#include "dlo/vault/vault.h"

namespace dlo {

/// Records after number `after`, a slice of them, sealed with the key that seals now: those that
/// are plain or sealed with an older one. The others are left alone, so that beginning again after
/// a kill repeats nothing.
[[nodiscard]] Result<Rewritten> seal_anew(Rewriter& office, const Vault& vault,
                                          const std::vector<FieldPath>& indexed, std::int64_t after,
                                          std::size_t limit);

}  // namespace dlo
