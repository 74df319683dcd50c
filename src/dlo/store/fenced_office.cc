#include "dlo/store/fenced_office.h"

namespace dlo {

Result<std::vector<Applied>> FencedOffice::apply(std::span<const Change> changes) {
  if (changes.empty()) return inner().apply(changes);
  std::vector<Change> all;
  all.reserve(changes.size() + 1);
  all.emplace_back(ExpectDocument{leader_kind, leader_key, term_});
  all.insert(all.end(), changes.begin(), changes.end());
  auto applied = inner().apply(all);
  if (applied) {
    applied->erase(applied->begin());
    return applied;
  }
  if (applied.error().code != Code::conflict) return applied;
  // Of the list, or of the term?
  Ledger* const ledger = inner().extras().ledger;
  const auto leader = ledger->document(leader_kind, leader_key);
  if (!leader || (*leader && (*leader)->version == term_)) return applied;
  return Error{Code::unavailable, "office.fenced",
               "another node leads by now; nothing was written, it goes on with this"};
}

}  // namespace dlo
