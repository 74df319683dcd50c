#include "dlo/store/postgres/schema.h"

#include <algorithm>

#include "dlo/store/postgres/seat.h"

namespace dlo::postgres {
namespace {

Failed refusal(std::string detail) {
  return {Error{Code::refused, "postgres.open", std::move(detail)}, Trouble::statement, ""};
}

/// 0: there is nothing yet.
std::int64_t version_of(Connection& connection, const std::string& schema) {
  const std::string table = "to_regclass('\"" + schema + "\".schema_versions')";
  const Rows found = connection.ask("SELECT " + table +
                                        " IS NULL, (SELECT count(*) FROM "
                                        "pg_class WHERE relnamespace = to_regnamespace('\"" +
                                        schema + "\"'))",
                                    Params(), Plan::once);
  if (found.front().number(0) == 0) {
    const Rows newest =
        connection.ask("SELECT max(version) FROM schema_versions", Params(), Plan::once);
    return newest.front().number(0);
  }
  if (found.front().number(1) == 0) return 0;
  throw refusal("schema \"" + schema + "\" at " + connection.place() +
                " holds tables, but not an office of dead letters; nothing was changed; choose "
                "another schema");
}

[[noreturn]] void refuse(Connection& connection, const std::string& schema, std::int64_t have,
                         std::int64_t want) {
  throw refusal("the office in schema \"" + schema + "\" at " + connection.place() +
                " has version " + std::to_string(have) + ", and this program knows " +
                std::to_string(want) +
                (have > want ? ": it was written by a newer one; nothing was changed; run that"
                             : ": let `dlo serve` open it once, which brings it up to date"));
}

void take_steps(Connection& connection, const std::string& schema,
                std::span<const Migration> steps) {
  const std::int64_t have = version_of(connection, schema);
  if (have == 0) {
    const Rows known = connection.ask("SELECT to_regnamespace('\"" + schema + "\"') IS NULL",
                                      Params(), Plan::once);
    if (known.front().number(0) != 0) connection.run("CREATE SCHEMA \"" + schema + "\"");
    connection.run(
        "CREATE TABLE schema_versions(version bigint PRIMARY KEY, what text NOT NULL, at "
        "timestamptz NOT NULL DEFAULT now())");
  }
  for (const Migration& step : steps) {
    if (step.version <= have) continue;
    connection.run(std::string(step.sql));
    if (step.fill != nullptr) step.fill(connection);
    (void)connection.ask(
        "INSERT INTO schema_versions(version, what) VALUES($1, convert_from($2, 'UTF8'))",
        Params(step.version, step.what), Plan::once);
  }
}

}  // namespace

Result<void> check_schema_name(const std::string& name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const bool good =
      !name.empty() && name.size() <= 63 && fits(name[0]) && !name.starts_with("pg_") &&
      std::ranges::all_of(name, [&](char c) { return fits(c) || (c >= '0' && c <= '9'); });
  if (good) return {};
  return Error{Code::invalid_argument, "postgres.open",
               "\"" + name +
                   "\" cannot be the schema of an office: give up to 63 lower-case letters, "
                   "digits and _, not beginning with a digit or pg_"};
}

std::int64_t writing_lock(const std::string& schema) {
  return advisory_lock("dlo writes " + schema);
}

std::string session_settings(const std::string& schema) {
  // Every query has its index; what the planner takes for an empty table may be full by the next
  // time a kept plan is used. A page is no reason to take several cores. Whoever stands still in a
  // transaction loses it: others wait for it.
  return "SET search_path = \"" + schema +
         "\"; SET client_min_messages = warning; SET lock_timeout = '15s'; "
         "SET idle_in_transaction_session_timeout = '15s'; SET enable_seqscan = off; "
         "SET jit = off; SET max_parallel_workers_per_gather = 0; SET bytea_output = hex; "
         "SET TIME ZONE 'UTC'";
}

void migrate(Connection& connection, const std::string& schema, std::span<const Migration> steps) {
  const std::int64_t want = steps.empty() ? 0 : steps.back().version;
  const std::int64_t have = version_of(connection, schema);
  if (have == want) return;
  if (have > want) refuse(connection, schema, have, want);
  connection.run("BEGIN");
  connection.run("SELECT pg_advisory_xact_lock(hashtextextended('dlo migrates " + schema +
                 "', 0))");
  take_steps(connection, schema, steps);
  connection.run("COMMIT");
}

void require_current(Connection& connection, const std::string& schema,
                     std::span<const Migration> steps) {
  const std::int64_t want = steps.empty() ? 0 : steps.back().version;
  const std::int64_t have = version_of(connection, schema);
  if (have == 0) {
    throw Failed{Error{Code::not_found, "postgres.open",
                       "there is no office in schema \"" + schema + "\" at " + connection.place() +
                           "; check the address, or let `dlo serve` create one"},
                 Trouble::statement, ""};
  }
  if (have != want) refuse(connection, schema, have, want);
}

}  // namespace dlo::postgres
