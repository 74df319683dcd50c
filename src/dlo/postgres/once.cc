#include "dlo/postgres/once.h"

#include <utility>

namespace dlo::postgres {
namespace {

/// Made only where it is missing: who may write into it need not have the right to make tables.
void make_table(Connection& connection) {
  const Rows there = connection.ask("SELECT to_regclass('dlo_effects') IS NOT NULL");
  if (there.front().number(0) != 0) return;
  connection.run(
      "CREATE TABLE IF NOT EXISTS dlo_effects"
      "(key text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())");
}

/// Refused by the statement itself, its values or what stands in the tables: it would be again.
bool is_refusal(std::string_view state) {
  return state.starts_with("21") || state.starts_with("22") || state.starts_with("23") ||
         state.starts_with("42") || state.starts_with("P0");
}

std::string settings_of(Millis timeout) {
  const std::string time = std::to_string(timeout.count());
  return "SET statement_timeout = " + time + "; SET lock_timeout = " + time +
         "; SET idle_in_transaction_session_timeout = " + time;
}

}  // namespace

OnceOnly::OnceOnly(const std::string& address, Millis timeout)
    : link_(address, settings_of(timeout), make_table) {}

Result<void> OnceOnly::run(const std::string& key, const std::string& sql,
                           const std::vector<std::optional<std::string>>& values) {
  const std::lock_guard lock(mutex_);
  try {
    carry_out(key, sql, values);
    return {};
  } catch (const Failed& failed) {
    Connection* connection = link_.current();
    // What is left in the middle of something is not used again; the server rolls it back.
    if (connection != nullptr && (connection->is_lost() || connection->in_transaction())) {
      link_.drop();
    }
    Error error = failed.error;
    if (is_refusal(failed.state)) error.code = Code::invalid_argument;
    return error;
  }
}

void OnceOnly::carry_out(const std::string& key, const std::string& sql,
                         const std::vector<std::optional<std::string>>& values) {
  Connection& connection = link_.use();
  connection.run("BEGIN");
  const Rows first = connection.ask_text(
      "INSERT INTO dlo_effects(key) VALUES ($1) ON CONFLICT (key) DO NOTHING", {key});
  if (first.written() > 0) {
    const Rows done = connection.ask_text(sql, values);
    if (done.written() == 0) {
      throw Failed{Error{Code::invalid_argument, "postgres.once",
                         "the statement changed no row at " + connection.place() +
                             "; what it is about may not be there"},
                   Trouble::statement, ""};
    }
  }
  connection.run("COMMIT");
}

}  // namespace dlo::postgres
