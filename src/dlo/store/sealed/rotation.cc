#include "dlo/store/sealed/rotation.h"

#include <utility>

namespace dlo {

Result<Rewritten> seal_anew(Rewriter& office, const Vault& vault,
                            const std::vector<FieldPath>& indexed, std::int64_t after,
                            std::size_t limit) {
  return office.rewrite(after, limit,
                        [&](const RecordDetail& kept) -> Result<std::optional<RecordDetail>> {
                          if (is_sealed_with(vault.current(), kept))
                            return std::optional<RecordDetail>{};
                          RecordDetail plain = kept;
                          if (auto opened = open_detail(vault, plain); !opened)
                            return opened.error();
                          auto anew = sealed({vault, indexed}, std::move(plain));
                          if (!anew) return anew.error();
                          return std::optional<RecordDetail>(std::move(*anew));
                        });
}

}  // namespace dlo
