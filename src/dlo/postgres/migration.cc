#include "dlo/postgres/migration.h"

#include <algorithm>

namespace dlo::postgres {
namespace {

Failed refusal(std::string detail) {
  return {Error{Code::refused, "postgres.open", std::move(detail)}, Trouble::statement, ""};
}

std::string quoted(const Holding& holding) {
  return "\"" + holding.schema + "\"";
}

std::string named(Connection& connection, const Holding& holding) {
  return std::string(holding.what) + " in schema " + quoted(holding) + " at " + connection.place();
}

/// 0: there is nothing yet.
std::int64_t version_of(Connection& connection, const Holding& holding) {
  const Rows found =
      connection.ask("SELECT to_regclass('" + quoted(holding) +
                         ".schema_versions') IS NULL, (SELECT count(*) FROM pg_class WHERE "
                         "relnamespace = to_regnamespace('" +
                         quoted(holding) + "'))",
                     Params(), Plan::once);
  if (found.front().number(0) == 0) {
    const Rows newest = connection.ask(
        "SELECT max(version) FROM " + quoted(holding) + ".schema_versions", Params(), Plan::once);
    return newest.front().number(0);
  }
  if (found.front().number(1) == 0) return 0;
  throw refusal("schema " + quoted(holding) + " at " + connection.place() +
                " holds tables, but no " + holding.what +
                "; nothing was changed; choose another schema");
}

void take_steps(Connection& connection, const Holding& holding) {
  const std::int64_t have = version_of(connection, holding);
  if (have == 0) {
    const Rows known = connection.ask("SELECT to_regnamespace('" + quoted(holding) + "') IS NULL",
                                      Params(), Plan::once);
    if (known.front().number(0) != 0) connection.run("CREATE SCHEMA " + quoted(holding));
    connection.run("CREATE TABLE " + quoted(holding) +
                   ".schema_versions(version bigint PRIMARY KEY, what text NOT NULL, at "
                   "timestamptz NOT NULL DEFAULT now())");
  }
  for (const Step& step : holding.steps) {
    if (step.version <= have) continue;
    connection.run(std::string(step.sql));
    (void)connection.ask("INSERT INTO " + quoted(holding) +
                             ".schema_versions(version, what) VALUES($1, convert_from($2, 'UTF8'))",
                         Params(step.version, step.what), Plan::once);
  }
}

}  // namespace

Result<void> check_schema_of(const Holding& holding) {
  const std::string& name = holding.schema;
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const bool good =
      !name.empty() && name.size() <= 63 && fits(name[0]) && !name.starts_with("pg_") &&
      std::ranges::all_of(name, [&](char c) { return fits(c) || (c >= '0' && c <= '9'); });
  if (good) return {};
  return Error{Code::invalid_argument, "postgres.open",
               "\"" + name + "\" cannot be the schema of " + holding.what +
                   ": give up to 63 lower-case letters, digits and _, not beginning with a digit "
                   "or pg_"};
}

void bring_up_to_date(Connection& connection, const Holding& holding) {
  const std::int64_t want = holding.steps.empty() ? 0 : holding.steps.back().version;
  const std::int64_t have = version_of(connection, holding);
  if (have == want) return;
  if (have > want) {
    throw refusal("the " + named(connection, holding) + " have version " + std::to_string(have) +
                  ", and this program knows " + std::to_string(want) +
                  ": they were written by a newer one; nothing was changed; run that");
  }
  connection.run("BEGIN");
  connection.run("SELECT pg_advisory_xact_lock(hashtextextended('dlo migrates " + holding.schema +
                 "', 0))");
  take_steps(connection, holding);
  connection.run("COMMIT");
}

}  // namespace dlo::postgres
