#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlo/api/request.h"
#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Which entries of the audit trail somebody wants to see; what is empty asks for nothing.
struct AuditFilter {
  std::string actor;
  std::vector<std::string> acts;  // one of these; `job.*` is whatever begins with `job.`
  std::string subject;            // a part of it
  std::optional<TimePoint> since;
  std::optional<TimePoint> until;       // before that
  std::optional<bool> refused;          // only what was refused, or only what was not
  std::optional<std::uint64_t> before;  // a number; newest first then

  [[nodiscard]] bool takes(const AddAudit& entry) const;
};
[[nodiscard]] Result<AuditFilter> read_audit_filter(const Request& request);

/// Some entries of the trail, and where to go on: nothing at its end. A page may be short, or even
/// empty, where very many entries were passed over.
struct AuditPage {
  std::vector<AuditEntry> entries;
  std::optional<std::uint64_t> next;
};
/// Oldest first, those behind number `after`; with `before`, newest first.
[[nodiscard]] Result<AuditPage> read_trail(Ledger& ledger, const AuditFilter& filter,
                                           std::uint64_t after, std::size_t limit);

/// GET /v1/audit.
[[nodiscard]] HttpResponse audit_trail(Office& office, const Request& request);

}  // namespace dlo::api
