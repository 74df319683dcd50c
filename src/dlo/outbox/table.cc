#include "dlo/outbox/table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "dlo/core/encoding.h"
#include "dlo/store/postgres/seat.h"

namespace dlo::outbox {
namespace {

using postgres::Connection;
using postgres::Params;
using postgres::Plan;

// A row that somebody has locked must not hold up the others; a table that was locked as a whole is
// tried again.
const std::string settings =
    "SET client_encoding = 'UTF8'; SET timezone = 'UTC'; SET lock_timeout = '500ms'; "
    "SET statement_timeout = '60s'; SET application_name = 'dlo outbox'";
const std::string find_columns =
    "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a "
    "JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = convert_from($1, 'UTF8') AND c.relname = convert_from($2, 'UTF8') "
    "AND a.attnum > 0 AND NOT a.attisdropped";
const std::string join_members = "SELECT pg_advisory_lock_shared($1)";
// The lock's 64 bits show as two halves.
const std::string count_members =
    "SELECT count(*) FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = "
    "1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND (l.classid::bigint << 32 | l.objid::bigint) = $1";
const std::string take_bucket = "SELECT pg_try_advisory_lock($1)";
const std::string leave_bucket = "SELECT pg_advisory_unlock($1)";
constexpr std::string_view lock_not_available = "55P03";
constexpr std::chrono::seconds sure_for{5};   // well before the server loses patience
constexpr std::size_t longest_error = 2'000;  // as document 001 keeps it (R1-6)

/// What a column of type text can hold.
std::string for_text(const std::string& text) {
  std::string clean = to_utf8(text);
  std::erase(clean, '\0');
  if (clean.size() <= longest_error) return clean;
  std::size_t end = 0;
  while (end + utf8_length(clean, end) <= longest_error) end += utf8_length(clean, end);
  return clean.substr(0, end);
}

std::optional<std::int64_t> millis(const std::optional<TimePoint>& time) {
  if (!time) return std::nullopt;
  return time->time_since_epoch().count();
}

std::size_t fair_share(std::int64_t members) {
  const std::int64_t relays = std::max<std::int64_t>(members, 1);
  return static_cast<std::size_t>((buckets + relays - 1) / relays);
}

}  // namespace

Table::Table(const std::string& address, Shape shape, std::string outbox,
             std::chrono::milliseconds silence)
    : configured_(std::move(shape)),
      outbox_(std::move(outbox)),
      shape_(configured_),
      locks_(postgres::advisory_lock("dlo outbox " + quoted(configured_.schema) + "." +
                                     quoted(configured_.table)) &
             ~std::int64_t{0xFF}),
      link_(address,
            settings + "; SET idle_session_timeout = '" + std::to_string(silence.count()) + "ms'",
            [this](Connection& connection) { greet(connection); }) {}

int Table::process() noexcept {
  Connection* connection = link_.current();
  return connection == nullptr ? 0 : connection->process();
}

void Table::greet(Connection& connection) {
  owned_.clear();
  share_again_ = {};
  TableFacts facts;
  const auto columns =
      connection.ask(find_columns, Params(configured_.schema, configured_.table), Plan::once);
  for (const postgres::Row row : columns) facts[row.text(0)] = row.text(1);
  if (facts.empty()) {
    throw postgres::Failed{
        Error{Code::not_found, "outbox.table",
              "there is no table " + quoted(configured_.schema) + "." + quoted(configured_.table) +
                  " at " + connection.place() +
                  "; make it (docs/outbox.md has the statement), or correct its name"},
        postgres::Trouble::statement, ""};
  }
  auto fitting = fit(configured_, facts);
  if (!fitting) throw postgres::Failed{fitting.error(), postgres::Trouble::statement, ""};
  shape_ = std::move(*fitting);
  statements_ = statements_of(shape_, facts);
  (void)connection.ask(join_members, Params(locks_ + buckets), Plan::once);
}

void Table::prepare(std::chrono::steady_clock::time_point now) {
  Connection& connection = link_.use();
  if (now < share_again_) return;
  share_again_ = now + between_shares;
  sure_until_ = now + sure_for;
  const std::int64_t members =
      connection.ask(count_members, Params(locks_ + buckets)).front().number(0);
  const std::size_t fair = fair_share(members);
  leave_some(connection, fair);
  take_some(connection, fair);
}

void Table::be_sure(std::chrono::steady_clock::time_point now) {
  if (now < sure_until_) return;
  Connection* const connection = link_.current();
  if (connection == nullptr) {
    throw postgres::Failed{Error{Code::unavailable, "outbox.table", "the connection was lost"},
                           postgres::Trouble::lost, ""};
  }
  (void)connection->ask("SELECT 1");
  sure_until_ = now + sure_for;
}

void Table::leave_some(Connection& connection, std::size_t fair) {
  for (; owned_.size() > fair; owned_.pop_back()) {
    (void)connection.ask(leave_bucket, Params(locks_ + owned_.back()));
  }
}

void Table::take_some(Connection& connection, std::size_t fair) {
  if (owned_.size() >= fair) return;
  std::vector<std::int64_t> wanted;
  for (std::int64_t bucket = 0; bucket < buckets; ++bucket) {
    if (std::ranges::find(owned_, bucket) == owned_.end()) wanted.push_back(bucket);
  }
  // Only as many as are missing: a lock that was taken by mistake would have to be given back.
  for (std::size_t next = 0; next < wanted.size() && owned_.size() < fair;) {
    const std::size_t end = std::min(wanted.size(), next + (fair - owned_.size()));
    const std::size_t begin = next;
    for (; next < end; ++next) connection.send(take_bucket, Params(locks_ + wanted[next]));
    const auto answers = connection.finish();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].front().number(0) != 0) owned_.push_back(wanted[begin + i]);
    }
  }
}

std::vector<Row> Table::read(const Wanted& wanted) {
  std::vector<Row> rows;
  if (owned_.empty()) return rows;
  const auto found = link_.use().ask(
      statements_.read,
      Params(owned_, wanted.except_ids, wanted.except_keys, wanted.rows, wanted.bytes, wanted.now));
  rows.reserve(static_cast<std::size_t>(found.size()));
  for (const postgres::Row row : found) rows.push_back(row_of(row, shape_, outbox_));
  return rows;
}

std::vector<std::string> Table::left_of(const std::vector<std::string>& ids) {
  std::vector<std::string> left;
  for (const postgres::Row row : link_.use().ask(statements_.left, Params(ids))) {
    left.push_back(row.text(0));
  }
  return left;
}

std::vector<std::string> Table::mark_done(const std::vector<std::string>& ids, bool carefully) {
  if (ids.empty()) return {};
  std::int64_t written = 0;
  try {
    written = link_.use()
                  .ask(carefully ? statements_.done_free : statements_.done, Params(ids))
                  .written();
  } catch (const postgres::Failed& failed) {
    if (failed.state != lock_not_available) throw;
    written = link_.use().ask(statements_.done_free, Params(ids)).written();
  }
  if (written == static_cast<std::int64_t>(ids.size())) return {};
  return left_of(ids);
}

std::vector<std::string> Table::mark_dead(const std::vector<std::string>& ids,
                                          const std::vector<Id128>& records) {
  if (ids.empty()) return {};
  const auto written = link_.use().ask(statements_.dead, Params(ids, records)).written();
  if (written == static_cast<std::int64_t>(ids.size())) return {};
  return left_of(ids);
}

bool Table::mark_failed(std::span<const FailedRow> rows) {
  if (!counts()) return false;
  Connection& connection = link_.use();
  for (const FailedRow& each : rows) {
    const Failures& f = each.failures;
    const std::string error = for_text(f.last_error);
    connection.send(statements_.failed, Params(each.id, f.attempts, millis(f.due),
                                               millis(f.first_attempt_at), error, f.trail));
  }
  (void)connection.finish();
  return true;
}

}  // namespace dlo::outbox
