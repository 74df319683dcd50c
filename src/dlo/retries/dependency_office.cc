#include "dlo/retries/dependency_office.h"

#include <utility>

namespace dlo {

Result<std::vector<Applied>> DependencyOffice::apply(std::span<const Change> changes) {
  const auto touched = dependencies_.touched_by(changes);
  if (touched.also.empty()) {
    auto applied = inner().apply(changes);
    if (applied) dependencies_.applied(touched);
    return applied;
  }
  std::vector<Change> all(changes.begin(), changes.end());
  all.insert(all.end(), touched.also.begin(), touched.also.end());
  auto applied = inner().apply(all);
  if (!applied) return applied;
  applied->resize(changes.size());
  dependencies_.applied(touched);
  return applied;
}

Result<std::vector<Claim>> DependencyOffice::claim(std::size_t limit, TimePoint now,
                                                   Millis lease_for, const ClaimFrom& from) {
  auto claims = inner().claim(limit, now, lease_for, from);
  if (!claims) return claims;
  return dependencies_.ready(std::move(*claims));
}

}  // namespace dlo
