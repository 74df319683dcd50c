#include "dlo/cli/audit_head.h"

#include <ostream>

namespace dlo::cli {

void HeadLog::write() {
  Ledger* ledger = office_.extras().ledger;
  if (ledger == nullptr) return;
  const auto head = newest_audit(*ledger);
  if (!head || !*head || (*head)->number == last_) return;
  last_ = (*head)->number;
  context_.out << "Audit head: entry " << last_ << ", " << (*head)->hash << std::endl;
}

}  // namespace dlo::cli
