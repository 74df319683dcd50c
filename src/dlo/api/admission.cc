#include "dlo/api/admission.h"

#include <algorithm>
#include <array>
#include <vector>

#include "dlo/core/spelling.h"
#include "dlo/server/http_server.h"

namespace dlo::api {
namespace {

constexpr std::string_view root = "/v1/";

bool only_looks(std::string_view method) noexcept {
  return method == "GET" || method == "HEAD";
}

struct Row {
  std::string_view method;
  std::string_view pattern;
  std::string_view action;
};
/// Where the name that follows from the pattern would not say it.
constexpr std::array<Row, 11> named = {{
    {"POST", "/v1/dead-letters", "dead-letters.report"},
    {"POST", "/v1/queues/{queue}/messages", "queues.send"},
    {"PUT", "/v1/queues/{queue}", "queues.declare"},
    {"POST", "/v1/jobs", "jobs.plan"},
    {"DELETE", "/v1/tokens/{id}", "tokens.revoke"},
    {"PATCH", "/v1/groups/{id}", "groups.change"},
    {"PUT", "/v1/entities/{kind}/{id}", "entities.register"},
    {"POST", "/v1/entities/{kind}/{id}/retries", "entities.retry"},
    // These only look, though they are asked with a body.
    {"POST", "/v1/rules/explain", "read"},
    {"POST", "/v1/rules/simulate", "read"},
    {"POST", "/v1/sources/{source}/test", "read"},
}};

/// One dead letter: their handlers look it up by `find_record`, which asks.
constexpr std::array<std::string_view, 15> about_a_record = {
    "/v1/dead-letters/{id}",           "/v1/dead-letters/{id}/payload",
    "/v1/dead-letters/{id}/resolve",   "/v1/dead-letters/{id}/archive",
    "/v1/dead-letters/{id}/discard",   "/v1/dead-letters/{id}/restore",
    "/v1/dead-letters/{id}/retry",     "/v1/dead-letters/{id}/tags",
    "/v1/dead-letters/{id}/notes",     "/v1/dead-letters/{id}/attempts",
    "/v1/dead-letters/{id}/versions",  "/v1/dead-letters/{id}/diff",
    "/v1/dead-letters/{id}/edit",      "/v1/dead-letters/{id}/replay",
    "/v1/dead-letters/{id}/quarantine"};
/// One source: mostly a queue, which is one. `move` is not among them: it is about two.
constexpr std::array<std::string_view, 13> about_a_source = {
    "/v1/sources/{source}",        "/v1/sources/{source}/pause", "/v1/sources/{source}/resume",
    "/v1/sources/{source}/test",   "/v1/schemas/{source}",       "/v1/queues/{queue}",
    "/v1/queues/{queue}/messages", "/v1/queues/{queue}/receive", "/v1/queues/{queue}/settle",
    "/v1/queues/{queue}/pause",    "/v1/queues/{queue}/resume",  "/v1/queues/{queue}/purge",
    "/v1/sources/{source}/give-up"};

/// Their handlers ask for the source of the kind.
constexpr std::array<std::string_view, 4> about_an_entity = {
    "/v1/entities/{kind}/{id}", "/v1/entities/{kind}/{id}/retries",
    "/v1/entities/{kind}/{id}/reopen", "/v1/entities/{kind}/{id}/effect"};

template <typename Table>
bool is_in(const Table& table, std::string_view pattern) noexcept {
  return std::find(table.begin(), table.end(), pattern) != table.end();
}

std::string_view verb_of(std::string_view method) noexcept {
  if (method == "POST") return "create";
  if (method == "DELETE") return "remove";
  return "change";
}

HttpResponse too_narrow(const Actor& actor, const std::string& what) {
  return problem(403, "scope_too_narrow",
                 "The token of " + in_quotes(actor.name) + " " + what +
                     ". Ask an admin for one with a wider scope.");
}

/// The host of an origin or a Host header, without scheme and port.
std::string_view host_of(std::string_view text) noexcept {
  if (const auto scheme = text.find("://"); scheme != std::string_view::npos) {
    text.remove_prefix(scheme + 3);
  }
  if (text.starts_with('[')) return text.substr(0, text.find(']') + 1);
  return text.substr(0, text.find(':'));
}

std::string_view place_of(std::string_view origin) noexcept {
  const auto scheme = origin.find("://");
  return scheme == std::string_view::npos ? origin : origin.substr(scheme + 3);
}

bool is_domain_name(std::string_view host) noexcept {
  const bool letters = std::any_of(host.begin(), host.end(), [](char c) {
    return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z';
  });
  return letters && !host.starts_with('[') && host.find('.') != std::string_view::npos &&
         !is_loopback(host);
}

}  // namespace

Reach reach_of(std::string_view method, std::string_view pattern) noexcept {
  if (pattern == "/v1/me" || pattern == "/healthz" || pattern == "/readyz") return Reach::nothing;
  if (pattern == "/v1/openapi.yaml" || pattern == "/v1/openapi.json") return Reach::nothing;
  if (is_in(about_a_source, pattern)) return Reach::path;
  if (is_in(about_a_record, pattern)) return Reach::handler;
  if (is_in(about_an_entity, pattern)) return Reach::handler;
  const bool list_or_report = only_looks(method) || method == "POST";
  return pattern == "/v1/dead-letters" && list_or_report ? Reach::handler : Reach::everything;
}

std::string action_of(std::string_view method, std::string_view pattern) {
  if (only_looks(method)) return "read";
  for (const Row& row : named) {
    if (row.method == method && row.pattern == pattern) return std::string(row.action);
  }
  if (pattern.starts_with(root)) pattern.remove_prefix(root.size());
  const auto end = pattern.find('/');
  const std::string resource(pattern.substr(0, end));
  const std::string_view last = pattern.substr(pattern.rfind('/') + 1);
  const bool has_verb = end != std::string_view::npos && !last.starts_with('{');
  return resource + "." + std::string(has_verb ? last : verb_of(method));
}

std::optional<HttpResponse> check_scope(const Request& request, Reach reach,
                                        const std::string& action) {
  const Scope& scope = request.actor.scope;
  if (reach != Reach::nothing && !allows_action(scope, action)) {
    return too_narrow(request.actor, "is not for the action " + in_quotes(action));
  }
  if (scope.sources.empty()) return std::nullopt;
  if (reach == Reach::everything) {
    return too_narrow(request.actor, "is for single sources, and this is about all of them");
  }
  if (reach == Reach::path && !allows_source(scope, request.path.front())) {
    return too_narrow(request.actor, "is not for " + in_quotes(request.path.front()));
  }
  return std::nullopt;
}

std::string action_of_act(std::string_view act) {
  if (act == "tag") return "dead-letters.tags";
  if (act == "repair") return "dead-letters.edit";
  if (act == "regroup") return "groups.split";
  return "dead-letters." + std::string(act);
}

std::optional<HttpResponse> check_act(const Request& request, std::string_view act,
                                      bool with_recipe) {
  std::vector<std::string> actions{action_of_act(act)};
  if (with_recipe && act != "repair") actions.push_back(action_of_act("repair"));
  for (const std::string& action : actions) {
    if (allows_action(request.actor.scope, action)) continue;
    request.note_refused("it may not " + action);
    return too_narrow(request.actor, "is not for the action " + in_quotes(action));
  }
  return std::nullopt;
}

std::optional<HttpResponse> check_page(const HttpRequest& request, bool by_token) {
  const std::string_view host = request.header("Host");
  if (!by_token && is_domain_name(host_of(host))) {
    return problem(403, "foreign_host",
                   "This server has no tokens, so it answers only under the names of this machine, "
                   "such as localhost; " +
                       in_quotes(host) + " may be a web page that reaches out to it.");
  }
  if (only_looks(request.method)) return std::nullopt;
  const std::string_view origin = request.header("Origin");
  const std::string_view site = request.header("Sec-Fetch-Site");
  const bool foreign =
      (!origin.empty() && place_of(origin) != host) || site == "cross-site" || site == "same-site";
  if (!foreign) return std::nullopt;
  return problem(403, "cross_site",
                 "A web page of another origin may not act here. If this is no browser, leave out "
                 "the headers Origin and Sec-Fetch-Site.");
}

}  // namespace dlo::api
