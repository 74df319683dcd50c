#include "dlo/store/postgres/books.h"

#include "dlo/core/sha256.h"

namespace dlo::postgres {
namespace {

using namespace sql;  // NOLINT: what every office on SQL shares

const std::string groups_of =
    std::string("SELECT ") + group_columns + " FROM groups WHERE fingerprint = ANY($1)";
const std::string strands_of_all =
    std::string("SELECT ") + strand_columns + " FROM strands WHERE fingerprint = ANY($1)";
const std::string strands_into =
    std::string("SELECT ") + strand_columns + " FROM strands WHERE into_group = $1";

/// `INSERT … ON CONFLICT DO UPDATE` of all columns.
std::string upsert(const char* table, std::string columns, int count) {
  std::string values;
  for (int i = 1; i <= count; ++i) values += (i == 1 ? "$" : ", $") + std::to_string(i);
  std::string excluded;
  std::string rest = columns;
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t end = std::min(rest.find(", ", at), rest.size());
    excluded += (excluded.empty() ? "excluded." : ", excluded.") + rest.substr(at, end - at);
    at = end + 2;
  }
  return std::string("INSERT INTO ") + table + "(" + columns + ") VALUES(" + values +
         ") ON CONFLICT(fingerprint) DO UPDATE SET (" + columns + ") = ROW(" + excluded + ")";
}

const std::string write_group = upsert("groups", group_columns, 21);
const std::string write_strand = upsert("strands", strand_columns, 23);
const std::string delete_group = "DELETE FROM groups WHERE fingerprint = $1";
const std::string delete_strand = "DELETE FROM strands WHERE fingerprint = $1";
const std::string write_tally =
    "INSERT INTO tallies(key, source, status, category, count) VALUES($1, $2, $3, $4, $5) "
    "ON CONFLICT(key) DO UPDATE SET count = tallies.count + excluded.count";
const std::string write_policy =
    "INSERT INTO policies(status, kind, count) VALUES($1, $2, $3) "
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

/// In order of `group_columns`.
Params group_params(const GroupSummary& group, const std::string& tags, const std::string& trend) {
  return Params(group.fingerprint, group.title, group.status, group.owner, group.ticket,
                group.notes, group.snoozed_until, group.open, group.total, group.first_seen,
                group.last_seen, group.sample, group.category, group.source, group.version,
                group.resolved_at, group.regressed_at, group.repeats, tags, trend, group.strands);
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
  for (const auto& [key, difference] : pages_.tallies) {
    if (difference == 0) continue;
    link_.use().send(write_tally,
                     Params(tally_key(key), key.source, key.status, key.category, difference));
  }
  pages_.tallies.clear();
  for (const auto& [key, difference] : pages_.policies) {
    if (difference != 0) {
      link_.use().send(write_policy, Params(key.status, key.kind, difference));
    }
  }
  pages_.policies.clear();
}

void Books::send_groups() {
  for (const auto& [fingerprint, group] : pages_.groups) {
    if (!group) {
      link_.use().send(delete_group, Params(fingerprint));
      continue;
    }
    const std::string tags = encode_tags(group->tags);
    const std::string trend = encode_trend(group->trend);
    link_.use().send(write_group, group_params(*group, tags, trend));
  }
}

void Books::send_strands() {
  for (const auto& [fingerprint, strand] : pages_.strands) {
    if (!strand) {
      link_.use().send(delete_strand, Params(fingerprint));
      continue;
    }
    const std::string tags = encode_tags(strand->own.tags);
    const std::string trend = encode_trend(strand->own.trend);
    Params params = group_params(strand->own, tags, trend);
    params.add(strand->into);
    params.add(strand->since);
    link_.use().send(write_strand, params);
  }
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
