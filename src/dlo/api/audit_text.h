#pragma once

#include <string>
#include <string_view>

#include "dlo/api/request.h"
#include "dlo/store/change.h"

namespace dlo::api {

/// An act as the audit trail keeps it: `detail` is a JSON object.
[[nodiscard]] inline AddAudit audit_of(const Request& request, std::string_view act,
                                       std::string subject, std::string detail) {
  return {request.now, request.actor.name, std::string(act), std::move(subject), std::move(detail)};
}

}  // namespace dlo::api
