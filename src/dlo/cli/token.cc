#include "dlo/access/token.h"

#include <ostream>
#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

std::string state_of(const JsonValue& token, const Context& context) {
  const auto revoked = time_of(token, "revoked_at");
  if (revoked) return "revoked " + when(context, revoked);
  const auto expires = time_of(token, "expires_at");
  if (!expires) return "valid";
  return (*expires <= context.now ? "expired " : "expires ") + when(context, expires);
}

Table token_table(const Context& context, const std::vector<JsonValue>& tokens) {
  Table table({{"ID"}, {"NAME", Align::left, true}, {"ROLE"}, {"CREATED"}, {"STATE"}});
  for (const JsonValue& each : tokens) {
    table.add({text_of(each, "id"), text_of(each, "name"), text_of(each, "role"),
               when(context, time_of(each, "created_at")), state_of(each, context)});
  }
  return table;
}

/// Nobody needs a token as long as there is none. Who may not look has one already.
bool is_open_to_everybody(Client& client) {
  const auto reply = ask_for(client, {"GET", "/v1/tokens"});
  return reply && member(reply->value, "tokens").items.empty();
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
  const bool was_open = is_open_to_everybody(**client);
  const auto reply = ask_for(**client, {"POST", "/v1/tokens", json.take()});
  if (!reply) return refuse(context, reply.error());
  const JsonValue& token = member(reply->value, "token");
  // The secret alone on stdout, so that it can be caught; what it is for beside it.
  context.err << "Token " << text_of(token, "id") << " for " << printable(text_of(token, "name"))
              << ", role " << text_of(token, "role") << ", " << state_of(token, context)
              << ". It is shown this once; use it as `Authorization: Bearer …`, or keep it in a "
                 "file for --token-file.\n";
  if (was_open && text_of(token, "role") != "admin") {
    context.err << "It is the first: from now on everybody needs a token, and nobody has one of "
                   "an admin. Where a server runs, stop it; then `dlo token create NAME --role "
                   "admin --data DIR` makes one.\n";
  }
  if (is_for_people(context)) {
    context.out << text_of(reply->value, "secret") << "\n";
  } else if (context.format == Format::id) {
    context.out << text_of(token, "id") << "\n";
  } else {
    print_one(context, reply->value, "secret", [] {});
  }
  return exit_ok;
}

int token_list(Context& context) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", "/v1/tokens"});
  if (!reply) return refuse(context, reply.error());
  const JsonValue& tokens = member(reply->value, "tokens");
  const int code = tokens.items.empty() ? exit_nothing_matched : exit_ok;
  print_items(context, *reply, tokens.items, "id",
              [&] { return token_table(context, tokens.items); });
  if (tokens.items.empty()) {
    context.err << "There are no tokens: a server of this office listens on loopback only, and "
                   "everybody there is its admin. `dlo token create NAME --role admin` changes "
                   "that.\n";
  }
  return code;
}

int token_revoke(Context& context, const TokenArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"DELETE", Address("/v1/tokens").step(arguments.id).text()});
  if (!reply) return refuse(context, reply.error());
  print_one(context, reply->value, "id", [&] {
    context.out << "Token " << text_of(reply->value, "id") << " ("
                << printable(text_of(reply->value, "name")) << ") is revoked since "
                << text_of(reply->value, "revoked_at") << ".\n";
  });
  return exit_ok;
}

}  // namespace dlo::cli
