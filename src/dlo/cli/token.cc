#include <memory>
#include <ostream>

#include "dlo/access/token_book.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/duration.h"
#include "dlo/core/encoding.h"
#include "dlo/json/writer.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

constexpr const char* actor = "local";

/// A running server has the office to itself: then it has to be asked.
Result<std::unique_ptr<SqliteOffice>> open_for_writing(const Context& context) {
  auto office = SqliteOffice::open(context.data);
  if (office || office.error().code != Code::refused) return office;
  Error error = office.error();
  error.detail += ". A running server takes POST /v1/tokens and DELETE /v1/tokens/ID";
  return error;
}

std::string state_of(const Token& token, TimePoint now) {
  if (token.revoked_at) return "revoked " + relative(*token.revoked_at, now);
  if (!token.expires_at) return "valid";
  return (*token.expires_at <= now ? "expired " : "expires ") + relative(*token.expires_at, now);
}

int print_list(Context& context, const std::vector<Token>& all) {
  if (context.format == Format::json || context.format == Format::ndjson) {
    JsonWriter json;
    json.begin_array();
    for (const Token& each : all) json.raw(shown(each));
    json.end_array();
    context.out << json.take() << "\n";
    return all.empty() ? exit_nothing_matched : exit_ok;
  }
  Table table({{"ID"}, {"NAME", Align::left, true}, {"ROLE"}, {"CREATED"}, {"STATE"}});
  for (const Token& each : all) {
    table.add({each.id, each.name, std::string(name_of(each.role)),
               relative(each.created_at, context.now), state_of(each, context.now)});
  }
  if (all.empty()) {
    context.out << "There are no tokens: a server of this office listens on loopback only, and "
                   "everybody there is its admin. `dlo token create NAME --role admin` changes "
                   "that.\n";
    return exit_nothing_matched;
  }
  table.print(context.out, context.width);
  return exit_ok;
}

}  // namespace

int token_create(Context& context, const TokenArguments& arguments) {
  NewToken wanted;
  wanted.name = arguments.name;
  const auto role = parse_role(arguments.role);
  if (!role) {
    fail(context, role.error());
    return exit_usage;
  }
  wanted.role = *role;
  if (!arguments.expires_in.empty()) {
    const auto duration = parse_duration(arguments.expires_in);
    if (!duration) {
      fail(context, duration.error());
      return exit_usage;
    }
    wanted.lives_for = *duration;
  }
  auto office = open_for_writing(context);
  if (!office) return fail(context, office.error());
  const auto issued = TokenBook(**office).create(wanted, actor, context.now);
  if (!issued) return fail(context, issued.error());
  // The secret alone on stdout, so that it can be caught; what it is for beside it.
  context.err << "Token " << issued->token.id << " for " << printable(issued->token.name)
              << ", role " << name_of(issued->token.role) << ", "
              << state_of(issued->token, context.now)
              << ". It is shown this once; use it as `Authorization: Bearer …`.\n";
  context.out << issued->text << "\n";
  return exit_ok;
}

int token_list(Context& context) {
  auto office = open_for_reading(context);
  if (!office) return fail(context, office.error());
  const auto all = TokenBook(**office).list();
  if (!all) return fail(context, all.error());
  return print_list(context, *all);
}

int token_revoke(Context& context, const TokenArguments& arguments) {
  auto office = open_for_writing(context);
  if (!office) return fail(context, office.error());
  const auto token = TokenBook(**office).revoke(arguments.id, actor, context.now);
  if (!token) return fail(context, token.error());
  context.out << "Token " << token->id << " (" << printable(token->name) << ") is revoked since "
              << to_iso8601(*token->revoked_at) << ".\n";
  return exit_ok;
}

}  // namespace dlo::cli
