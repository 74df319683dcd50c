#include "dlo/api/lookup.h"

#include "dlo/api/curtain.h"
#include "dlo/core/spelling.h"

namespace dlo::api {

Result<RecordId> record_id(const Request& request) {
  const auto id = parse_id(request.path.front());
  if (id) return RecordId{*id};
  return Error{Code::invalid_argument, "api.id",
               in_quotes(request.path.front()) +
                   " is not the id of a dead letter: 32 hex digits, as lists show them"};
}

Result<RecordDetail> find_record(Office& office, const Request& request) {
  const auto id = record_id(request);
  if (!id) return id.error();
  auto detail = office.get(*id);
  const bool foreign =
      detail && !allows_source(request.actor.scope, detail->record.message->source);
  if (foreign) request.note_refused("a dead letter of a source outside of its scope");
  // Whoever may not see it learns nothing, not even that it is there.
  if (foreign || (!detail && detail.error().code == Code::not_found)) {
    return Error{Code::not_found, "api.id",
                 "There is no dead letter " + to_string(*id) +
                     ". It may have been removed; /v1/audit tells by whom."};
  }
  return detail;
}

Result<RecordDetail> find_shown(Office& office, const Request& request) {
  auto detail = find_record(office, request);
  if (!detail) return detail;
  return curtain_of(request).shown(office, request, std::move(*detail));
}

FormContext form_context(const RecordDetail& detail) {
  FormContext context;
  if (!detail.attempts.empty()) context.first_error = detail.attempts.back().error_text;
  return context;
}

}  // namespace dlo::api
