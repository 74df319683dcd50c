#include "dlo/api/tokens.h"

#include <optional>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/body.h"
#include "dlo/core/duration.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

HttpResponse list(TokenBook& book) {
  const auto all = book.list();
  if (!all) return problem_of(all.error());
  JsonWriter json;
  json.begin_object().key("tokens").begin_array();
  for (const Token& each : *all) json.raw(shown(each));
  json.end_array().end_object();
  return json_answer(json.take());
}

Result<NewToken> read_new(const Request& request) {
  NewToken wanted;
  std::string role = "reader";
  std::string lives_for;
  const auto read = read_body(request, [&](JsonFields& fields) {
    fields.require("name");
    wanted.name = fields.text("name");
    if (fields.has("role")) role = fields.text("role");
    lives_for = fields.text("expires_in");
    read_limits(fields, wanted.scope, wanted.rate, wanted.max_body);
  });
  if (!read) return read.error();
  const auto known = parse_role(role);
  if (!known) return known.error();
  wanted.role = *known;
  if (lives_for.empty()) return wanted;
  const auto duration = parse_duration(lives_for);
  if (!duration) return duration.error();
  wanted.lives_for = *duration;
  return wanted;
}

/// Whoever may make tokens, and not much else, makes none that may more.
std::optional<HttpResponse> check_maker(const NewToken& wanted, const Request& request) {
  std::string why;
  if (wanted.role > request.actor.role) {
    why = "A token gives no more than its maker has: your role is " +
          std::string(name_of(request.actor.role)) + ".";
  } else if (const auto within = check_within(wanted.scope, request.actor.scope); !within) {
    why = within.error().detail;
  }
  if (why.empty()) return std::nullopt;
  request.note_refused("a token that may more than its maker");
  return problem(403, "scope_too_narrow", why);
}

HttpResponse create(TokenBook& book, const std::vector<std::string>& actions,
                    const Request& request) {
  if (request.http.has_header("Idempotency-Key")) {
    return problem(
        400, "invalid_argument",
        "A token takes no Idempotency-Key: its secret is shown once and kept nowhere, so "
        "a repeat could not be answered. Revoke the one you lost and make another.");
  }
  const auto wanted = read_new(request);
  if (!wanted) return problem_of(wanted.error());
  if (const auto known = check_actions(wanted->scope, actions); !known) {
    return problem_of(known.error());
  }
  if (auto refusal = check_maker(*wanted, request)) return std::move(*refusal);
  const auto issued = book.create(*wanted, request.actor.name, request.now);
  if (!issued) return problem_of(issued.error());
  JsonWriter json;
  json.begin_object().member("secret", issued->text).key("token").raw(shown(issued->token));
  json.end_object();
  HttpResponse answer = json_answer(json.take(), 201);
  answer.headers.push_back({"Location", "/v1/tokens/" + issued->token.id});
  answer.headers.push_back({"Cache-Control", "no-store"});  // it is shown this once
  return answer;
}

HttpResponse revoke(TokenBook& book, const Request& request) {
  const auto token = book.revoke(request.path.front(), request.actor.name, request.now);
  if (!token) return problem_of(token.error());
  return json_answer(shown(*token));
}

HttpResponse me(const Request& request, const std::string& version) {
  JsonWriter json;
  json.begin_object().member("name", request.actor.name);
  json.member("role", name_of(request.actor.role));
  write_names(json, "sources", request.actor.scope.sources);
  write_names(json, "actions", request.actor.scope.actions);
  json.member("version", version).member("now", request.now).end_object();
  return json_answer(json.take());
}

}  // namespace

Access token_access(TokenBook& book, const Clock& clock, bool always, std::uint32_t rate) {
  return [&book, &clock, always, rate](const HttpRequest& request) -> Result<Actor> {
    const TimePoint now = clock.now();
    if (!always) {
      const auto required = book.required(now);
      if (!required) return required.error();
      if (!*required) return local_access(request);
    }
    const auto token = book.who(request.header("Authorization"), request.client, now);
    if (!token && token.error().code == Code::timed_out) {
      if (const auto wait = book.shut_out(request.client, now)) {
        Actor nobody{request.client, Role::nobody};
        nobody.shut_out = wait;
        return nobody;
      }
    }
    if (!token) return token.error();
    // Names may repeat; with its id the audit trail says which one it was.
    Actor actor{token->name + " (" + token->id + ")", token->role};
    actor.scope = token->scope;
    actor.max_body = token->max_body;
    actor.wait = book.wait_of(*token, rate, now);
    actor.by_token = true;
    return actor;
  };
}

StillAdmitted token_watch(TokenBook& book, const Clock& clock, bool always) {
  return [&book, &clock, always](const std::string& authorization) {
    const TimePoint now = clock.now();
    const auto required = book.required(now);
    if (!required) return false;
    if (!*required && !always) return true;
    return book.is_good(authorization, now);
  };
}

std::vector<Route> token_routes(TokenBook& book, std::function<std::vector<std::string>()> actions,
                                const std::string& version) {
  return {
      {"GET", "/v1/tokens", Role::admin, Lane::quick, {}, answering([&book](const Request&) {
         return list(book);
       })},
      {"POST",
       "/v1/tokens",
       Role::admin,
       Lane::quick,
       {},
       answering([&book, actions = std::move(actions)](const Request& request) {
         return create(book, actions(), request);
       })},
      {"DELETE",
       "/v1/tokens/{id}",
       Role::admin,
       Lane::quick,
       {},
       answering([&book](const Request& request) { return revoke(book, request); })},
      {"GET", "/v1/me", Role::reader, Lane::here, {}, answering([version](const Request& request) {
         return me(request, version);
       })},
  };
}

}  // namespace dlo::api
