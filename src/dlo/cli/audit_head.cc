#include "dlo/cli/audit_head.h"

#include <cstdint>
#include <ostream>
#include <vector>

namespace dlo::cli {

Result<std::optional<AuditEntry>> audit_head(Office& office) {
  Ledger* ledger = office.extras().ledger;
  std::optional<AuditEntry> newest;
  if (ledger == nullptr) return newest;
  // Entries are numbered without gaps, from 1. First beyond the end by doubling, then back.
  std::uint64_t step = 1;
  std::uint64_t after = 0;
  bool growing = true;
  while (step > 0) {
    const auto found = ledger->audit(after + step - 1, 1);
    if (!found) return found.error();
    if (!found->empty()) {
      after += step;
      newest = found->front();
      step = growing ? step * 2 : step / 2;
    } else {
      growing = false;
      step /= 2;
    }
  }
  // Others may have written on meanwhile.
  const auto rest = ledger->audit(newest ? newest->number : 0, 100);
  if (!rest) return rest.error();
  if (!rest->empty()) newest = rest->back();
  return newest;
}

void HeadLog::write() {
  const auto head = audit_head(office_);
  if (!head || !*head || (*head)->number == last_) return;
  last_ = (*head)->number;
  context_.out << "Audit head: entry " << last_ << ", " << (*head)->hash << std::endl;
}

}  // namespace dlo::cli
