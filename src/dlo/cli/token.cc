#include "dlo/access/token.h"

#include <ostream>
#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

std::string state_of(const JsonValue& token, TimePoint now) {
  const auto revoked = time_of(token, "revoked_at");
  if (revoked) return "revoked " + relative(*revoked, now);
  const auto expires = time_of(token, "expires_at");
  if (!expires) return "valid";
  return (*expires <= now ? "expired " : "expires ") + relative(*expires, now);
}

}  // namespace

int token_create(Context& context, const TokenArguments& arguments) {
  const auto client = connect(context, Need::make);
  if (!client) return refuse(context, client.error());
  JsonWriter json;
  json.begin_object().member("name", arguments.name).member("role", arguments.role);
  if (!arguments.expires_in.empty()) json.member("expires_in", arguments.expires_in);
  write_names(json, "sources", arguments.sources);
  write_names(json, "actions", arguments.actions);
  if (arguments.rate > 0) json.member("rate", std::uint64_t{arguments.rate});
  if (arguments.max_body > 0) json.member("max_body", arguments.max_body);
  json.end_object();
  const auto reply = ask_for(**client, {"POST", "/v1/tokens", json.take()});
  if (!reply) return refuse(context, reply.error());
  const JsonValue& token = member(reply->value, "token");
  // The secret alone on stdout, so that it can be caught; what it is for beside it.
  context.err << "Token " << text_of(token, "id") << " for " << printable(text_of(token, "name"))
              << ", role " << text_of(token, "role") << ", " << state_of(token, context.now)
              << ". It is shown this once; use it as `Authorization: Bearer …`, or keep it in a "
                 "file for --token-file.\n";
  context.out << text_of(reply->value, "secret") << "\n";
  return exit_ok;
}

int token_list(Context& context) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", "/v1/tokens"});
  if (!reply) return refuse(context, reply.error());
  const JsonValue& tokens = member(reply->value, "tokens");
  const int code = tokens.items.empty() ? exit_nothing_matched : exit_ok;
  if (context.format == Format::json) {
    context.out << tokens.raw << "\n";
    return code;
  }
  if (context.format == Format::ndjson || context.format == Format::id) {
    for (const JsonValue& each : tokens.items) {
      context.out << (context.format == Format::id ? text_of(each, "id") : std::string(each.raw))
                  << "\n";
    }
    return code;
  }
  if (tokens.items.empty()) {
    context.out << "There are no tokens: a server of this office listens on loopback only, and "
                   "everybody there is its admin. `dlo token create NAME --role admin` changes "
                   "that.\n";
    return code;
  }
  Table table({{"ID"}, {"NAME", Align::left, true}, {"ROLE"}, {"CREATED"}, {"STATE"}});
  for (const JsonValue& each : tokens.items) {
    const auto created = time_of(each, "created_at");
    table.add({text_of(each, "id"), text_of(each, "name"), text_of(each, "role"),
               created ? relative(*created, context.now) : "", state_of(each, context.now)});
  }
  print(context, table);
  return code;
}

int token_revoke(Context& context, const TokenArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"DELETE", Address("/v1/tokens").step(arguments.id).text()});
  if (!reply) return refuse(context, reply.error());
  context.out << "Token " << text_of(reply->value, "id") << " ("
              << printable(text_of(reply->value, "name")) << ") is revoked since "
              << text_of(reply->value, "revoked_at") << ".\n";
  return exit_ok;
}

}  // namespace dlo::cli
