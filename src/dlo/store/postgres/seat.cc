#include "dlo/store/postgres/seat.h"

#include <string_view>
#include <utility>

namespace dlo::postgres {
namespace {

// A holder that was killed leaves within moments: whoever is started again at once finds it free.
const std::string wait_shortly = "SELECT set_config('lock_timeout', '2s', false)";
const std::string wait_as_usual = "SELECT set_config('lock_timeout', '15s', false)";
const std::string take_lock = "SELECT pg_advisory_lock($1)";
constexpr std::string_view lock_not_available = "55P03";
// The lock's 64 bits show as two halves.
const std::string find_holder =
    "SELECT l.pid, coalesce(a.application_name, ''), coalesce(host(a.client_addr), 'this machine') "
    "FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid "
    "WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 "
    "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND (l.classid::bigint << 32 | l.objid::bigint) = $1";
const std::string end_connection = "SELECT pg_terminate_backend($1::integer, 5000)";
const std::string name_connection =
    "SELECT set_config('application_name', convert_from($1, 'UTF8'), false)";

}  // namespace

std::int64_t advisory_lock(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return static_cast<std::int64_t>(hash);
}

std::int64_t seat_lock(const std::string& schema) {
  return advisory_lock("dlo serves " + schema);
}

std::string seat_holder(Connection& connection, std::int64_t lock) {
  const Rows rows = connection.ask(find_holder, Params(lock), Plan::once);
  return rows.empty() ? std::string() : rows.front().text(1);
}

Seat::Seat(const std::string& schema, std::string who)
    : schema_(schema), who_(std::move(who)), lock_(seat_lock(schema)) {}

bool Seat::try_take(Connection& connection) const {
  (void)connection.ask(wait_shortly, Params(), Plan::once);
  bool taken = true;
  try {
    (void)connection.ask(take_lock, Params(lock_), Plan::once);
  } catch (const Failed& failed) {
    if (failed.state != lock_not_available) throw;
    taken = false;
  }
  (void)connection.ask(wait_as_usual, Params(), Plan::once);
  return taken;
}

Rows Seat::holder(Connection& connection) const {
  return connection.ask(find_holder, Params(lock_), Plan::once);
}

void Seat::take(Connection& connection) {
  (void)connection.ask(name_connection, Params(who_), Plan::once);
  bool taken = try_take(connection);
  if (!taken && before_ != 0) {
    const Rows rows = holder(connection);
    if (!rows.empty() && rows.front().number(0) == before_) {
      // Waits until it is gone.
      (void)connection.ask(end_connection, Params(before_), Plan::once);
      taken = try_take(connection);
    }
  }
  if (!taken) refuse(connection);
  before_ = connection.process();
}

void Seat::refuse(Connection& connection) const {
  const Rows rows = holder(connection);
  std::string by = "another program";
  if (!rows.empty()) {
    by = "'" + rows.front().text(1) + "' from " + rows.front().text(2) + " (process " +
         std::to_string(rows.front().number(0)) + " of the database)";
  }
  throw Failed{
      {Code::refused, "postgres.open",
       "The office in schema '" + schema_ + "' of " + connection.place() + " is served by " + by +
           ". Whoever works on it beside its servers asks one of them; nothing was changed. "
           "Ask it: --server URL, or stop them first"},
      Trouble::statement,
      {}};
}

}  // namespace dlo::postgres
