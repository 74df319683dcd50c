#include "dlo/store/sqlite/books.h"

#include <algorithm>

#include "dlo/store/sql/codec.h"
#include "dlo/store/sql/group_rows.h"

namespace dlo::sqlite {
namespace {

/// In order of `group_columns`.
void bind_group(Statement& statement, const GroupSummary& group, const std::string& tags,
                const std::string& trend) {
  statement.bind(group.fingerprint, group.title, group.status, group.owner, group.ticket,
                 group.notes, group.snoozed_until, group.open, group.total, group.first_seen,
                 group.last_seen, group.sample, group.category, group.source, group.version,
                 group.resolved_at, group.regressed_at, group.repeats, Bytes{tags}, Bytes{trend},
                 group.strands);
}

}  // namespace

Books::Books(Connection& db)
    : read_counters_(db.raw(), "SELECT name, value FROM counters"),
      write_counter_(db.raw(), "UPDATE counters SET value = ?2 WHERE name = ?1"),
      tally_(db.raw(),
             "INSERT INTO tallies VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
             "count = count + excluded.count"),
      policy_(db.raw(),
              "INSERT INTO policies VALUES(?, ?, ?) ON CONFLICT DO UPDATE SET "
              "count = count + excluded.count"),
      read_group_(db.raw(),
                  std::string("SELECT ") + group_columns + " FROM groups WHERE fingerprint = ?"),
      write_group_(db.raw(), std::string("INSERT OR REPLACE INTO groups(") + group_columns +
                                 ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                                 "?, ?, ?, ?, ?)"),
      delete_group_(db.raw(), "DELETE FROM groups WHERE fingerprint = ?"),
      read_strand_(db.raw(),
                   std::string("SELECT ") + strand_columns + " FROM strands WHERE fingerprint = ?"),
      read_strands_(db.raw(),
                    std::string("SELECT ") + strand_columns + " FROM strands WHERE into_group = ?"),
      write_strand_(db.raw(), std::string("INSERT OR REPLACE INTO strands(") + strand_columns +
                                  ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                                  "?, ?, ?, ?, ?)"),
      delete_strand_(db.raw(), "DELETE FROM strands WHERE fingerprint = ?"),
      add_words_(db.raw(), "INSERT INTO error_text(rowid, words) VALUES(?, ?)"),
      remove_words_(db.raw(),
                    "INSERT INTO error_text(error_text, rowid, words) VALUES('delete', ?, ?)"),
      last_hash_(db.raw(), "SELECT hash FROM audit ORDER BY number DESC LIMIT 1") {
  reload();
}

void Books::reload() {
  pages_ = Pages{};
  for (Rows rows(read_counters_); rows.next();) {
    const std::string_view name = rows->view(0);
    const std::int64_t value = rows->number(1);
    if (name == "change") pages_.sequences.change = static_cast<std::uint64_t>(value);
    if (name == "number") pages_.sequences.number = value;
    if (name == "audit") pages_.audit = static_cast<std::uint64_t>(value);
    if (name == "poison_orchestrations") pages_.poison[0] = value;
    if (name == "poison_activities") pages_.poison[1] = value;
    for (const LifetimeRow& each : lifetime_rows) {
      if (name == each.name) pages_.lifetime.*each.count = static_cast<std::uint64_t>(value);
    }
  }
  if (Rows rows(last_hash_); rows.next()) pages_.audit_hash = rows->text(0);
  written_ = pages_;
}

void Books::write() {
  write_tallies();
  write_groups();
  write_strands();
  write_words();
  write_counters();
}

std::optional<GroupSummary> Books::fetch_group(const Id128& fingerprint) {
  read_group_.bind(fingerprint);
  Rows rows(read_group_);
  if (!rows.next()) return std::nullopt;
  return read_group(read_group_);
}

std::optional<Strand> Books::fetch_strand(const Id128& fingerprint) {
  read_strand_.bind(fingerprint);
  Rows rows(read_strand_);
  if (!rows.next()) return std::nullopt;
  return read_strand(read_strand_);
}

std::vector<Strand> Books::fetch_strands_of(const Id128& group) {
  std::vector<Strand> found;
  read_strands_.bind(group);
  for (Rows rows(read_strands_); rows.next();) found.push_back(read_strand(read_strands_));
  return found;
}

void Books::add_words(std::int64_t seat, std::string text) {
  pages_.words.push_back({seat, true, std::move(text)});
}
void Books::remove_words(std::int64_t seat, std::string text) {
  pages_.words.push_back({seat, false, std::move(text)});
}

void Books::write_tallies() {
  for (const auto& [key, difference] : pages_.tallies) {
    if (difference == 0) continue;
    tally_.bind(key.source, key.status, key.category, difference).run();
  }
  pages_.tallies.clear();
  for (const auto& [key, difference] : pages_.policies) {
    if (difference != 0) policy_.bind(key.status, key.kind, difference).run();
  }
  pages_.policies.clear();
}

void Books::write_groups() {
  for (const auto& [fingerprint, group] : pages_.groups) {
    if (!group) {
      delete_group_.bind(fingerprint).run();
      continue;
    }
    const std::string tags = encode_tags(group->tags);
    const std::string trend = encode_trend(group->trend);
    bind_group(write_group_, *group, tags, trend);
    write_group_.run();
  }
  pages_.groups.clear();
}

void Books::write_strands() {
  for (const auto& [fingerprint, strand] : pages_.strands) {
    if (!strand) {
      delete_strand_.bind(fingerprint).run();
      continue;
    }
    const std::string tags = encode_tags(strand->own.tags);
    const std::string trend = encode_trend(strand->own.trend);
    bind_group(write_strand_, strand->own, tags, trend);
    write_strand_.bind_from(22, strand->into, strand->since);
    write_strand_.run();
  }
  pages_.strands.clear();
}

void Books::write_words() {
  // Stable: a row that leaves and comes back under one seat keeps that order.
  std::stable_sort(pages_.words.begin(), pages_.words.end(),
                   [](const auto& a, const auto& b) { return a.seat < b.seat; });
  for (const Pages::Words& row : pages_.words) {
    (row.comes ? add_words_ : remove_words_).bind(row.seat, row.text).run();
  }
  pages_.words.clear();
}

void Books::write_counters() {
  const auto put = [this](const char* name, auto now, auto before) {
    if (now != before) write_counter_.bind(name, now).run();
  };
  put("change", pages_.sequences.change, written_.sequences.change);
  put("number", pages_.sequences.number, written_.sequences.number);
  put("audit", pages_.audit, written_.audit);
  put("poison_orchestrations", pages_.poison[0], written_.poison[0]);
  put("poison_activities", pages_.poison[1], written_.poison[1]);
  for (const LifetimeRow& each : lifetime_rows) {
    put(each.name, pages_.lifetime.*each.count, written_.lifetime.*each.count);
  }
  written_ = pages_;
}

}  // namespace dlo::sqlite
