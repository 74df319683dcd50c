#include "dlo/api/health.h"

#include <string_view>

#include "dlo/api/answers.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

/// A word, and which node says it: whoever asks need not say who they are. The log says what is
/// wrong.
HttpResponse say(const HealthParts& parts, std::string_view status, int code = 200) {
  JsonWriter json;
  json.begin_object().member("status", status);
  if (parts.node) {
    const NodeStatus node = parts.node();
    json.member("node", node.name).key("leads").boolean(node.leads);
    if (!node.leader.empty()) json.member("leader", node.leader);
  }
  return json_answer(json.end_object().take(), code);
}

/// Whatever is only in trouble still does what it acknowledges, so that is no reason to stop
/// asking.
HttpResponse health(const HealthParts& parts) {
  AggregateRequest nothing;
  nothing.tallies = false;
  const auto numbers = parts.office.aggregate(nothing);
  (void)parts.office.apply({});  // writes nothing, and is told of damage that its own threads met
  const auto met = parts.office.trouble();
  if (met && met->code == Code::corrupt) return say(parts, "office damaged", 503);
  if (!numbers) return say(parts, "office unavailable", 503);
  const auto health = parts.queues == nullptr ? QueuesHealth{} : parts.queues->health();
  if (!health.works) return say(parts, "queues unavailable", 503);
  if (met) return say(parts, "office in trouble");
  if (!health.trouble.empty()) return say(parts, "queues in trouble");
  return say(parts, "ok");
}

/// Whether new work should come here: not to a server that is about to stop, nor to one that could
/// not keep it. Who is sent nothing would never find out that it can write again: it tries.
HttpResponse readiness(const HealthParts& parts) {
  if (parts.stopping()) return say(parts, "stopping", 503);
  parts.office.try_again();
  const auto met = parts.office.trouble();
  const bool full = met && (met->code == Code::full || met->code == Code::disk_full);
  if (full) return say(parts, "full", 503);
  if (met && met->code != Code::corrupt) return say(parts, "office in trouble", 503);
  return health(parts);
}

}  // namespace

std::vector<Route> health_routes(const HealthParts& parts) {
  return {{"GET", "/healthz", Role::nobody, Lane::quick, {}, answering([parts](const Request&) {
             return health(parts);
           })},
          {"GET", "/readyz", Role::nobody, Lane::quick, {}, answering([parts](const Request&) {
             return readiness(parts);
           })}};
}

}  // namespace dlo::api
