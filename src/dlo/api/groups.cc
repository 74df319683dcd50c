#include "dlo/api/groups.h"

#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/core/spelling.h"
#include "dlo/json/json.h"
#include "dlo/json/parts.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_groups = 500;
constexpr std::size_t usual_groups = 50;

HttpResponse list(Office& office, const Request& request) {
  const auto limit = request.number("limit", usual_groups, 1, most_groups);
  if (!limit) return problem_of(limit.error());
  AggregateRequest wanted;
  wanted.tallies = false;
  wanted.groups = *limit;
  if (const auto* order = request.find("order")) {
    if (*order != "seen" && *order != "open") {
      return problem(400, "invalid_argument",
                     "order must be seen or open, not " + in_quotes(*order));
    }
    if (*order == "open") wanted.group_order = GroupOrder::open_count;
  }
  const auto numbers = office.aggregate(wanted);
  if (!numbers) return problem_of(numbers.error());
  JsonWriter json;
  json.begin_object().key("groups").begin_array();
  for (const GroupSummary& group : numbers->groups) write_json(json, group);
  json.end_array().end_object();
  return json_answer(json.take());
}

Result<GroupSummary> find_group(Office& office, const Request& request) {
  const auto id = parse_id(request.path.front());
  if (!id) {
    return Error{Code::invalid_argument, "api.group",
                 in_quotes(request.path.front()) +
                     " is not the id of a group: 32 hex digits, as lists show them"};
  }
  AggregateRequest wanted;
  wanted.tallies = false;
  wanted.only_group = *id;
  auto numbers = office.aggregate(wanted);
  if (!numbers) return numbers.error();
  if (numbers->groups.empty()) {
    return Error{Code::not_found, "api.group", "There is no group " + to_string(*id) + "."};
  }
  return std::move(numbers->groups.front());
}

HttpResponse show(Office& office, const Request& request) {
  const auto group = find_group(office, request);
  return group ? json_answer(to_json(*group)) : problem_of(group.error());
}

EditGroup read_edit(JsonFields& fields) {
  EditGroup edit;
  if (fields.has("status")) {
    edit.status = parse_group_status(fields.text("status"));
    if (!edit.status) {
      fields.complain("status", "must be open, acknowledged, fixing, snoozed, resolved or ignored");
    }
  }
  if (fields.has("owner")) edit.owner = fields.text("owner");
  if (fields.has("ticket")) edit.ticket = fields.text("ticket");
  if (fields.has("notes")) edit.notes = fields.text("notes");
  edit.snoozed_until = fields.time("snoozed_until");
  if (edit.snoozed_until && edit.status != GroupStatus::snoozed) {
    fields.complain("snoozed_until", "needs status \"snoozed\" beside it");
  }
  return edit;
}

HttpResponse edit(Office& office, const Request& request) {
  EditGroup change;
  const auto read = read_body(request, [&](JsonFields& fields) { change = read_edit(fields); });
  if (!read) return problem_of(read.error());
  const auto before = find_group(office, request);
  if (!before) return problem_of(before.error());
  change.fingerprint = before->fingerprint;
  change.at = request.now;
  JsonWriter said;
  said.begin_object().key("before");
  write_json(said, *before);
  said.key("edit").raw(request.http.body.empty() ? "{}" : request.http.body).end_object();
  const std::vector<Change> changes{
      change, audit_of(request, "group", to_string(before->fingerprint), said.take())};
  if (const auto applied = office.apply(changes); !applied) return problem_of(applied.error());
  return show(office, request);
}

}  // namespace

std::vector<Route> group_routes(Office& office) {
  return {
      {"GET",
       "/v1/groups",
       Role::reader,
       Lane::quick,
       {"limit", "order"},
       answering([&office](const Request& request) { return list(office, request); })},
      {"GET",
       "/v1/groups/{id}",
       Role::reader,
       Lane::quick,
       {},
       answering([&office](const Request& request) { return show(office, request); })},
      {"PATCH",
       "/v1/groups/{id}",
       Role::operator_,
       Lane::quick,
       {},
       answering([&office](const Request& request) { return edit(office, request); })},
  };
}

}  // namespace dlo::api
