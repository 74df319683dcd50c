#include "dlo/api/front.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/target.h"
#include "dlo/core/duration.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"
#include "dlo/store/office.h"

namespace dlo::api {
namespace {

constexpr std::size_t longest_subject = 200;

/// What a handler throws is our fault; its client hears that, and the server lives on.
void run(const Route& route, Request request, const ExchangePtr& exchange) {
  try {
    route.run(std::move(request), exchange);
  } catch (const std::exception& thrown) {
    exchange->send(problem(500, "internal",
                           std::string("The server failed while it answered: ") + thrown.what() +
                               ". What was acknowledged before is kept."));
  }
}

std::optional<HttpResponse> check_query(const Route& route, const Request& request) {
  for (const auto& [name, value] : request.query) {
    if (std::find(route.query.begin(), route.query.end(), name) != route.query.end()) continue;
    if (route.query.empty()) {
      return problem(400, "unknown_parameter",
                     "This address takes no parameters, but " + in_quotes(name) + " was given.");
    }
    return problem(400, "unknown_parameter", unknown_name("parameter", name, route.query));
  }
  return std::nullopt;
}

/// A few bytes can unpack to any number of them, so nothing is unpacked; and to keep packed bytes
/// as if they were the payload would lose what they are.
std::optional<HttpResponse> check_encoding(const HttpRequest& http) {
  if (http.body.empty() || !http.has_header("Content-Encoding")) return std::nullopt;
  if (same_ignoring_case(http.header("Content-Encoding"), "identity")) return std::nullopt;
  return problem(415, "unsupported_media_type",
                 "Bodies are taken as they are: send it unpacked, without a Content-Encoding.");
}

std::optional<HttpResponse> check_role(const Route& route, const Actor& actor) {
  if (actor.role >= route.role) return std::nullopt;
  return problem(403, "role_too_low",
                 "This needs the role " + std::string(name_of(route.role)) + "; " +
                     in_quotes(actor.name) + " has the role " + std::string(name_of(actor.role)) +
                     ".");
}

/// What its token says about how often and how much.
std::optional<HttpResponse> check_measure(const Request& request) {
  const Actor& actor = request.actor;
  if (actor.wait) {
    HttpResponse answer = problem(
        429, "rate_exceeded",
        in_quotes(actor.name) + " asks more often than its token allows. Nothing was done.");
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*actor.wait).count();
    answer.headers.push_back({"Retry-After", std::to_string(seconds)});
    return answer;
  }
  if (actor.max_body && request.http.body.size() > *actor.max_body) {
    return problem(413, "body_too_large",
                   "The token of " + in_quotes(actor.name) + " is for bodies of at most " +
                       std::to_string(*actor.max_body) + " bytes.");
  }
  return std::nullopt;
}

HttpResponse shut_out(const std::string& detail, Millis wait) {
  HttpResponse answer = problem(429, "too_many_wrong_tokens", detail);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  answer.headers.push_back({"Retry-After", std::to_string(seconds)});
  return answer;
}

HttpResponse not_admitted(const Error& error) {
  if (error.code == Code::refused) {
    HttpResponse answer = problem(401, "unauthorized", error.detail);
    answer.headers.push_back({"WWW-Authenticate", "Bearer realm=\"dlo\""});
    return answer;
  }
  return error.code == Code::timed_out ? shut_out(error.detail, std::chrono::seconds{1})
                                       : problem_of(error);
}

}  // namespace

Result<Actor> local_access(const HttpRequest&) {
  return Actor{"local", Role::admin};
}

void Front::note(const HttpRequest& http, const Actor& actor, TimePoint now,
                 const std::string& why) const {
  JsonWriter detail;
  detail.begin_object().member("why", why).member("client", http.client).end_object();
  // The path without its query, which may hold what is nobody's business.
  const std::string path = http.target.substr(0, std::min(http.target.find('?'), longest_subject));
  parts_.refused(
      {now, actor.name, std::string(refused_act), http.method + " " + path, detail.take()});
}

void Front::handle(HttpRequest http, ExchangePtr exchange) const {
  auto target = parse_target(http.target);
  if (!target) return exchange->send(problem_of(target.error()));
  auto match = parts_.router.find(http.method, std::move(target->steps));
  if (match.route == nullptr) return exchange->send(std::move(match.refusal));
  const Route& route = *match.route;
  const Instant instant = parts_.clock.instant();
  const TimePoint now = instant.wall;
  auto actor = route.role == Role::nobody ? Actor{} : parts_.access(http);
  if (!actor) {
    const bool looks = http.method == "GET" || http.method == "HEAD";
    const bool tried = http.has_header("Authorization") || !looks;  // a wrong token, or an act
    if (actor.error().code == Code::refused && tried) {
      note(http, Actor{http.client, Role::nobody}, now, actor.error().detail);
    }
    return exchange->send(not_admitted(actor.error()));
  }
  if (actor->shut_out) {
    return exchange->send(shut_out("Too many wrong tokens came from here. Try again in " +
                                       print_duration(*actor->shut_out) + ".",
                                   *actor->shut_out));
  }
  if (route.role != Role::nobody) {
    if (auto refusal = check_page(http, actor->by_token)) {
      note(http, *actor, now, "a web page of another origin");
      return exchange->send(std::move(*refusal));
    }
  }
  Request request{std::move(http),
                  std::move(match.path),
                  std::move(target->query),
                  std::move(*actor),
                  now,
                  instant.steady,
                  [this](const Request& acted, const std::string& why) {
                    note(acted.http, acted.actor, acted.now, why);
                  },
                  parts_.curtain};
  if (auto refusal = check_role(route, request.actor)) {
    request.note_refused("role too low");
    return exchange->send(std::move(*refusal));
  }
  if (auto refusal = check_scope(request, match.reach, *match.action)) {
    request.note_refused("outside of its scope");
    return exchange->send(std::move(*refusal));
  }
  if (auto refusal = check_measure(request)) return exchange->send(std::move(*refusal));
  if (auto refusal = check_query(route, request)) return exchange->send(std::move(*refusal));
  if (auto refusal = check_encoding(request.http)) return exchange->send(std::move(*refusal));
  if (route.lane == Lane::here) return run(route, std::move(request), exchange);
  WorkerPool& pool = route.lane == Lane::slow ? parts_.slow : parts_.quick;
  auto carried = std::make_shared<Request>(std::move(request));
  if (!pool.post([&route, carried, exchange] { run(route, std::move(*carried), exchange); })) {
    HttpResponse busy = problem(503, "busy",
                                "More is asked than can be answered. Nothing was done; ask again "
                                "in a moment.");
    busy.headers.push_back({"Retry-After", "1"});
    exchange->send(std::move(busy));
  }
}

}  // namespace dlo::api
