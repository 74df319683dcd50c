#include "dlo/store/postgres/books.h"

#include <algorithm>

#include "dlo/core/sha256.h"
#include "dlo/postgres/row_arrays.h"

namespace dlo::postgres {
namespace {

using namespace sql;  // NOLINT: what every office on SQL shares

const std::string groups_of =
    std::string("SELECT ") + group_columns + " FROM groups WHERE fingerprint = ANY($1)";
const std::string strands_of_all =
    std::string("SELECT ") + strand_columns + " FROM strands WHERE fingerprint = ANY($1)";
const std::string strands_into =
    std::string("SELECT ") + strand_columns + " FROM strands WHERE into_group = $1";

/// `INSERT … ON CONFLICT DO UPDATE` of all columns of rows that come as arrays.
std::string upsert(const char* table, const std::string& columns, int count) {
  std::string excluded;
  for (std::size_t at = 0; at < columns.size();) {
    const std::size_t end = std::min(columns.find(", ", at), columns.size());
    excluded += (excluded.empty() ? "excluded." : ", excluded.") + columns.substr(at, end - at);
    at = end + 2;
  }
  return std::string("INSERT INTO ") + table + "(" + columns + ") SELECT * FROM " +
         unnest_of(1, count) + " ON CONFLICT(fingerprint) DO UPDATE SET (" + columns + ") = ROW(" +
         excluded + ")";
}

const std::string write_groups = upsert("groups", group_columns, 21);
const std::string write_strands = upsert("strands", strand_columns, 23);
const std::string delete_group = "DELETE FROM groups WHERE fingerprint = $1";
const std::string delete_strand = "DELETE FROM strands WHERE fingerprint = $1";
const std::string write_tallies =
    "INSERT INTO tallies(key, source, status, category, count) SELECT * FROM unnest($1, $2, $3, "
    "$4, $5) ON CONFLICT(key) DO UPDATE SET count = tallies.count + excluded.count";
const std::string write_policies =
    "INSERT INTO policies(status, kind, count) SELECT * FROM unnest($1, $2, $3) "
    "ON CONFLICT(status, kind) DO UPDATE SET count = policies.count + excluded.count";
const std::string write_office =
    "UPDATE office SET change = $1, number = $2, audit = $3, audit_hash = $4, "
    "poison_orchestrations = $5, poison_activities = $6, lifetime_enqueued = $7, "
    "lifetime_retry_success = $8, lifetime_retry_failed = $9, lifetime_exhausted = $10, "
    "lifetime_manually_retried = $11, lifetime_archived = $12";

std::string tally_key(const TallyKey& key) {
  std::string all = std::to_string(key.source.size()) + ":" + key.source;
  all += std::to_string(static_cast<int>(key.status)) + ":" + key.category;
  const auto digest = sha256(all);
  return {digest.begin(), digest.end()};
}

/// In order of `group_columns`, and what else a strand has.
template <typename... More>
void add_group(RowArrays& rows, const GroupSummary& group, const More&... more) {
  rows.add(group.fingerprint, group.title, group.status, group.owner, group.ticket, group.notes,
           group.snoozed_until, group.open, group.total, group.first_seen, group.last_seen,
           group.sample, group.category, group.source, group.version, group.resolved_at,
           group.regressed_at, group.repeats, encode_tags(group.tags), encode_trend(group.trend),
           group.strands, more...);
}

void send_rows(Link& link, const std::string& sql, RowArrays& rows) {
  if (rows.empty()) return;
  Params params;
  rows.add_to(params);
  link.use().send(sql, params);
}

bool same_numbers(const Pages& a, const Pages& b) {
  return a.sequences.change == b.sequences.change && a.sequences.number == b.sequences.number &&
         a.audit == b.audit && a.poison[0] == b.poison[0] && a.poison[1] == b.poison[1] &&
         a.lifetime == b.lifetime;
}

}  // namespace

Lifetime read_lifetime(const Row& row) {
  Lifetime lifetime;
  int place = 6;
  for (const LifetimeRow& each : lifetime_rows) {
    lifetime.*each.count = row.as<std::uint64_t>(place++);
  }
  return lifetime;
}

void Books::open(const Row& row) {
  pages_ = Pages{};
  pages_.sequences.change = row.as<std::uint64_t>(0);
  pages_.sequences.number = row.number(1);
  pages_.audit = row.as<std::uint64_t>(2);
  pages_.audit_hash = row.text(3);
  pages_.poison[0] = row.number(4);
  pages_.poison[1] = row.number(5);
  pages_.lifetime = read_lifetime(row);
  written_ = pages_;
  known_groups_.clear();
  known_strands_.clear();
}

void Books::ask_for(const std::vector<Id128>& fingerprints) {
  link_.use().send(groups_of, Params(fingerprints));
  link_.use().send(strands_of_all, Params(fingerprints));
}

void Books::take(const std::vector<Id128>& fingerprints, const Rows& groups, const Rows& strands) {
  for (const Id128& each : fingerprints) {
    known_groups_[each].reset();
    known_strands_[each].reset();
  }
  for (const Row row : groups) known_groups_[row.id(0)] = read_group(row);
  for (const Row row : strands) known_strands_[row.id(0)] = read_strand(row);
}

std::optional<GroupSummary> Books::fetch_group(const Id128& fingerprint) {
  if (const auto known = known_groups_.find(fingerprint); known != known_groups_.end()) {
    return known->second;
  }
  const Rows rows = link_.use().ask(groups_of, Params(std::vector<Id128>{fingerprint}));
  if (rows.empty()) return std::nullopt;
  return read_group(rows.front());
}

std::optional<Strand> Books::fetch_strand(const Id128& fingerprint) {
  if (const auto known = known_strands_.find(fingerprint); known != known_strands_.end()) {
    return known->second;
  }
  const Rows rows = link_.use().ask(strands_of_all, Params(std::vector<Id128>{fingerprint}));
  if (rows.empty()) return std::nullopt;
  return read_strand(rows.front());
}

std::vector<Strand> Books::fetch_strands_of(const Id128& group) {
  std::vector<Strand> found;
  for (const Row row : link_.use().ask(strands_into, Params(group))) {
    found.push_back(read_strand(row));
  }
  return found;
}

void Books::send() {
  send_tallies();
  send_groups();
  send_strands();
  send_office();
}

void Books::send_tallies() {
  RowArrays tallies;
  for (const auto& [key, difference] : pages_.tallies) {
    if (difference == 0) continue;
    tallies.add(tally_key(key), key.source, key.status, key.category, difference);
  }
  pages_.tallies.clear();
  send_rows(link_, write_tallies, tallies);
  RowArrays policies;
  for (const auto& [key, difference] : pages_.policies) {
    if (difference != 0) policies.add(key.status, key.kind, difference);
  }
  pages_.policies.clear();
  send_rows(link_, write_policies, policies);
}

void Books::send_groups() {
  RowArrays rows;
  for (const auto& [fingerprint, group] : pages_.groups) {
    if (group) {
      add_group(rows, *group);
    } else {
      link_.use().send(delete_group, Params(fingerprint));
    }
  }
  send_rows(link_, write_groups, rows);
}

void Books::send_strands() {
  RowArrays rows;
  for (const auto& [fingerprint, strand] : pages_.strands) {
    if (strand) {
      add_group(rows, strand->own, strand->into, strand->since);
    } else {
      link_.use().send(delete_strand, Params(fingerprint));
    }
  }
  send_rows(link_, write_strands, rows);
}

void Books::send_office() {
  if (same_numbers(pages_, written_)) return;
  const Pages& p = pages_;
  Params params(p.sequences.change, p.sequences.number, p.audit, p.audit_hash, p.poison[0],
                p.poison[1]);
  for (const LifetimeRow& each : lifetime_rows) params.add(p.lifetime.*each.count);
  link_.use().send(write_office, params);
}

}  // namespace dlo::postgres
