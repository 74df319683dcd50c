#pragma once

#include <string>
#include <string_view>

#include "dlo/api/request.h"
#include "dlo/json/writer.h"
#include "dlo/store/change.h"

namespace dlo::api {

/// An act as the audit trail keeps it: `detail` is a JSON object.
[[nodiscard]] inline AddAudit audit_of(const Request& request, std::string_view act,
                                       std::string subject, std::string detail) {
  return {request.now, request.actor.name, std::string(act), std::move(subject), std::move(detail)};
}

/// What an act changed: two JSON values, of which an empty one stands for nothing.
[[nodiscard]] inline std::string before_and_after(std::string_view before, std::string_view after) {
  JsonWriter json;
  json.begin_object();
  if (!before.empty()) json.key("before").raw(before);
  if (!after.empty()) json.key("after").raw(after);
  return json.end_object().take();
}

}  // namespace dlo::api
