#include "dlo/api/bulk_acts.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/body.h"
#include "dlo/api/group_words.h"
#include "dlo/api/lookup.h"
#include "dlo/core/acts.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr const char* where = "api.bulk_acts";

/// The body of POST /v1/jobs that does `act` to `what`: {"ids":[...]} or {"query":"..."}, without
/// its brackets. What else the body says stands as it is, and is checked there.
Result<std::string> job_body(const Request& request, std::string_view act,
                             const std::string& what) {
  std::string_view text = request.http.body;  // what is read points into it
  if (text.empty()) text = "{}";
  const auto readable = parse_json(text);
  if (!readable || readable->kind != JsonKind::object) {
    return Error{Code::invalid_argument, where, "The body must be a JSON object"};
  }
  JsonWriter json;
  json.begin_object().member("act", act).raw(what);
  bool start = true;
  for (const JsonMember& each : readable->members) {
    if (each.name == "act" || each.name == "query" || each.name == "ids" ||
        each.name == "from_job" || each.name == "outcome") {
      return Error{Code::invalid_argument, where,
                   "The address says what is done to what, so " + in_quotes(each.name) +
                       " does not belong into the body"};
    }
    start = start && each.name != "start" && each.name != "dry_run";
    json.key(each.name).raw(each.value.raw);
  }
  if (start) json.key("start").boolean(true);
  json.end_object();
  return json.take();
}

HttpResponse as_job(const JobParts& parts, const Request& request, std::string_view act,
                    const std::string& what) {
  if (!request.http.body.empty() && media_type(request) != "application/json") {
    return problem(415, "unsupported_media_type", "The body must be application/json.");
  }
  auto body = job_body(request, act, what);
  if (!body) return problem_of(body.error());
  Request job = request;
  if (job.http.body.empty()) job.http.headers.push_back({"Content-Type", "application/json"});
  job.http.body = std::move(*body);
  return plan_job(parts, job);
}

/// A token for single sources may not send anything to others by naming them as the target.
std::optional<HttpResponse> check_target(const Request& request) {
  if (request.actor.scope.sources.empty()) return std::nullopt;
  const auto body = parse_json(request.http.body);
  const JsonValue* target = body ? body->find("target") : nullptr;
  if (target == nullptr || allows_source(request.actor.scope, target->text())) return std::nullopt;
  request.note_refused("a replay to a source outside of its scope");
  return problem(403, "scope_too_narrow",
                 "The token of " + in_quotes(request.actor.name) + " is not for " +
                     in_quotes(target->text()) + ". Ask an admin for one with a wider scope.");
}

HttpResponse replay_one(const JobParts& parts, const Request& request) {
  const auto found = find_record(parts.office, request);
  if (!found) return problem_of(found.error());
  if (auto no = check_target(request)) return std::move(*no);
  return as_job(parts, request, "replay", R"("ids":[")" + to_string(found->record.id) + R"("])");
}

HttpResponse act_on_group(const JobParts& parts, const Request& request, std::string_view act) {
  const auto group = find_group(parts.office, request);
  if (!group) return problem_of(group.error());
  const std::string which = is_about_open(act) ? " status:open" : "";
  return as_job(parts, request, act,
                R"("query":"group:)" + to_string(group->fingerprint) + which + "\"");
}

Route group_route(const JobParts& parts, std::string_view pattern) {
  const std::string_view act = pattern.substr(pattern.rfind('/') + 1);
  return {"POST",
          pattern,
          Role::operator_,
          Lane::slow,
          {},
          answering(
              [parts, act](const Request& request) { return act_on_group(parts, request, act); })};
}

}  // namespace

std::vector<Route> bulk_act_routes(const JobParts& parts) {
  std::vector<Route> routes;
  routes.push_back(
      {"POST",
       "/v1/dead-letters/{id}/replay",
       Role::operator_,
       Lane::slow,
       {},
       answering([parts](const Request& request) { return replay_one(parts, request); })});
  for (const std::string_view pattern :
       {"/v1/groups/{id}/replay", "/v1/groups/{id}/retry", "/v1/groups/{id}/resolve",
        "/v1/groups/{id}/archive", "/v1/groups/{id}/restore", "/v1/groups/{id}/discard",
        "/v1/groups/{id}/tag", "/v1/groups/{id}/repair", "/v1/groups/{id}/quarantine"}) {
    routes.push_back(group_route(parts, pattern));
  }
  return routes;
}

}  // namespace dlo::api
