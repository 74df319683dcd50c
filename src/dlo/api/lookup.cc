#include "dlo/api/lookup.h"

#include "dlo/api/curtain.h"
#include "dlo/core/spelling.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_of_one_name = 100;

Error none_such(const std::string& name) {
  return {
      Code::not_found, "api.id",
      "There is no dead letter " + name + ". It may have been removed; /v1/audit tells by whom."};
}

/// The only open dead letter of a task (S2-20): where there are several, none is guessed.
Result<RecordId> by_task(Office& office, const Request& request, const std::string& task) {
  Query query;
  for (const Status status : all_statuses()) {
    if (is_open(status)) query.statuses.push_back(status);
  }
  query.message_id = task;
  query.limit = most_of_one_name;
  query.time_box = Millis{10'000};
  const auto page = office.list(query);
  if (!page) return page.error();
  std::vector<RecordId> found;
  for (const RecordHead& head : page->rows) {
    if (allows_source(request.actor.scope, head.source)) found.push_back(head.id);
  }
  if (found.empty()) {
    return Error{Code::not_found, "api.id",
                 "There is no dead letter " + in_quotes(task) +
                     ", and no open one of a task called that. Ids have 32 hex digits, and all of "
                     "them are needed; lists show them."};
  }
  if (found.size() == 1) return found.front();
  return Error{Code::conflict, "api.id",
               std::to_string(found.size()) + " open dead letters have the task id " +
                   in_quotes(task) + ". Name one by its own id, as lists show it."};
}

}  // namespace

Result<RecordId> record_id(Office& office, const Request& request) {
  const std::string& name = request.path.front();
  const auto id = parse_id(name);
  if (id) return RecordId{*id};
  return by_task(office, request, name);
}

Result<RecordDetail> find_record(Office& office, const Request& request) {
  const auto id = record_id(office, request);
  if (!id) return id.error();
  auto detail = office.get(*id);
  const bool foreign =
      detail && !allows_source(request.actor.scope, detail->record.message->source);
  if (foreign) request.note_refused("a dead letter of a source outside of its scope");
  // Whoever may not see it learns nothing, not even that it is there.
  if (foreign || (!detail && detail.error().code == Code::not_found)) {
    return none_such(to_string(*id));
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
