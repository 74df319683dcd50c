#include "dlo/jobs/former.h"

namespace dlo {
namespace {

constexpr const char* former_kind = "former_status";

}  // namespace

PutDocument remember_status(const RecordId& id, Status status) {
  // Whoever held a lease lost it when the record was closed.
  const Status kept = carries_lease(status) ? Status::pending : status;
  return {former_kind, to_string(id), std::string(name_of(kept)), std::nullopt};
}

Result<Status> former_status(Office& office, const RecordId& id) {
  Ledger* ledger = office.extras().ledger;
  if (ledger == nullptr) return Status::pending;
  const auto found = ledger->document(former_kind, to_string(id));
  if (!found) return found.error();
  if (!*found) return Status::pending;
  return parse_status((*found)->body).value_or(Status::pending);
}

}  // namespace dlo
