#include "dlo/store/sqlite/reading.h"

#include <algorithm>
#include <limits>

#include "dlo/store/sql/codec.h"
#include "dlo/store/sqlite/books.h"
#include "dlo/store/sqlite/due_lines.h"
#include "dlo/store/sqlite/group_pages.h"
#include "dlo/store/sqlite/session.h"

namespace dlo::sqlite {
namespace {

// The statements below and the views of schema.cc say these two as numbers.
static_assert(static_cast<int>(Status::replaying) == 5 && static_cast<int>(Status::replayed) == 6);

const std::string by_id = std::string("SELECT ") + head_columns + " FROM records WHERE id = ?";
const std::string by_number =
    std::string("SELECT ") + head_columns + " FROM records WHERE number = ?";
const std::string poison_rows = std::string("SELECT ") + head_columns +
                                " FROM records INDEXED BY records_poison"
                                " WHERE kind = ? AND number > ? AND class = 1"
                                " AND status NOT IN (5, 6) ORDER BY number LIMIT ?";
const std::string poison_of_instance = std::string("SELECT ") + head_columns +
                                       " FROM records INDEXED BY records_instance"
                                       " WHERE instance = ? AND kind = ? AND number > ?"
                                       " AND class = 1 AND status NOT IN (5, 6)"
                                       " ORDER BY number LIMIT ?";
const std::string version_rows =
    std::string("SELECT ") + version_columns + " FROM versions WHERE number = ? ORDER BY n";
const std::string one_group =
    std::string("SELECT ") + group_columns +
    " FROM groups WHERE fingerprint = coalesce((SELECT into_group FROM strands WHERE fingerprint ="
    " ?1), ?1)";
const std::string strand_rows = std::string("SELECT ") + strand_columns +
                                " FROM strands WHERE into_group = (SELECT into_group FROM strands"
                                " WHERE fingerprint = ?) ORDER BY fingerprint";

const std::string first_due =
    "SELECT due_at FROM records INDEXED BY records_due WHERE due_at IS NOT NULL"
    " AND priority = ?1 ORDER BY due_at LIMIT 1";
const std::string first_due_of_source =
    "SELECT due_at FROM records INDEXED BY records_due_source WHERE due_at IS NOT NULL"
    " AND priority = ?1 AND source = ?2 ORDER BY due_at LIMIT 1";
const std::string first_lease_end =
    "SELECT lease_until FROM records INDEXED BY records_lease WHERE lease_until IS NOT NULL"
    " ORDER BY lease_until LIMIT 1";

std::int64_t bounded(std::uint64_t value) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(value, most));
}

std::optional<TimePoint> read_next_due(Readers::Turn& turn, const ClaimFrom& from) {
  std::optional<TimePoint> first;
  const auto consider = [&](Statement& statement) {
    for (Rows rows(statement); rows.next();) {
      first = first ? std::min(*first, rows->time(0)) : rows->time(0);
    }
  };
  const auto of_source = [&](const std::string& source) {
    for (std::size_t each = 0; each < priorities; ++each) {
      consider(turn(first_due_of_source).bind(static_cast<std::int64_t>(each), source));
    }
  };
  if (!from.source.empty()) {
    of_source(from.source);
  } else if (from.without.empty()) {
    for (std::size_t each = 0; each < priorities; ++each) {
      consider(turn(first_due).bind(static_cast<std::int64_t>(each)));
    }
  } else {
    each_due_source(turn(due_source_after), [&](const std::string& source) {
      if (takes(from, source)) of_source(source);
    });
  }
  consider(turn(first_lease_end));
  return first;
}

Lifetime read_lifetime(Readers::Turn& turn) {
  Lifetime lifetime;
  Rows rows(turn("SELECT name, value FROM counters WHERE name GLOB 'lifetime_*'"));
  while (rows.next()) {
    for (const LifetimeRow& each : lifetime_rows) {
      if (rows->view(0) == each.name) lifetime.*each.count = rows->as<std::uint64_t>(1);
    }
  }
  return lifetime;
}

}  // namespace

bool complete(Readers::Turn& turn, Head& head) {
  const std::int64_t number = head.record.number;
  Rows body(turn("SELECT envelope, payload FROM bodies WHERE number = ?").bind(number));
  Rows facts(turn("SELECT facts FROM details WHERE number = ?").bind(number));
  if (!body.next() || !facts.next()) return false;
  read_body(*body, 0, 1, *head.message);
  decode_facts(facts->view(0), head.record);
  return true;
}

std::optional<RecordDetail> read_record(Readers::Turn& turn, const RecordId& id) {
  Rows found(turn(by_id).bind(id));
  if (!found.next()) return std::nullopt;
  Head head = read_head(*found);
  if (!complete(turn, head)) {
    throw Failed{Error{
        Code::corrupt, "sqlite.get",
        "record " + to_string(id) + " has lost its body; nothing was changed; restore a backup"}};
  }
  RecordDetail detail{std::move(head.record), {}, {}};
  const std::int64_t number = detail.record.number;
  Rows attempts(turn("SELECT attempt FROM attempts WHERE number = ? ORDER BY n DESC").bind(number));
  while (attempts.next()) detail.attempts.push_back(decode_attempt(attempts->view(0)));
  Rows versions(turn(version_rows).bind(number));
  while (versions.next()) detail.versions.push_back(read_version(*versions));
  return detail;
}

std::vector<Strand> read_strands(Readers::Turn& turn, const Id128& fingerprint) {
  std::vector<Strand> strands;
  for (Rows rows(turn(strand_rows).bind(fingerprint)); rows.next();) {
    strands.push_back(read_strand(*rows));
  }
  return strands;
}

Aggregate read_aggregate(Readers::Turn& turn, const AggregateRequest& request) {
  Aggregate answer;
  Rows change(turn("SELECT value FROM counters WHERE name = 'change'"));
  if (change.next()) answer.last_change = change->as<std::uint64_t>(0);
  if (request.tallies) {
    answer.lifetime = read_lifetime(turn);
    Rows rows(
        turn("SELECT source, status, category, count FROM tallies WHERE count <> 0"
             " ORDER BY source, status, category"));
    while (rows.next()) {
      answer.tallies.push_back(
          {rows->text(0), rows->as<Status>(1), rows->text(2), rows->as<std::uint64_t>(3)});
    }
    Rows kinds(
        turn("SELECT status, kind, count FROM policies WHERE count <> 0 ORDER BY status, kind"));
    while (kinds.next()) {
      answer.policies.push_back(
          {kinds->as<Status>(0), kinds->as<PolicyKind>(1), kinds->as<std::uint64_t>(2)});
    }
  }
  if (request.only_group) {
    Rows rows(turn(one_group).bind(*request.only_group));
    if (rows.next()) answer.groups.push_back(read_group(*rows));
    for (Strand& strand : read_strands(turn, *request.only_group)) {
      answer.strands.push_back(std::move(strand.own));
    }
  } else if (request.groups > 0) {
    read_groups(turn, request, answer);
  }
  if (request.due) answer.next_due = read_next_due(turn, *request.due);
  return answer;
}

std::vector<ChangeNote> read_changes(Readers::Turn& turn, std::uint64_t after, std::size_t limit) {
  std::vector<ChangeNote> notes;
  Rows rows(turn("SELECT change, id, status FROM records WHERE change > ? ORDER BY change LIMIT ?")
                .bind(bounded(after), bounded(limit)));
  while (rows.next()) {
    notes.push_back({rows->as<std::uint64_t>(0), RecordId{rows->id(1)}, rows->as<Status>(2)});
  }
  return notes;
}

std::optional<Document> read_document(Readers::Turn& turn, const std::string& kind,
                                      const std::string& key) {
  Rows rows(
      turn("SELECT key, body, version FROM documents WHERE kind = ? AND key = ?").bind(kind, key));
  if (!rows.next()) return std::nullopt;
  return Document{rows->text(0), rows->text(1), rows->as<std::uint64_t>(2)};
}

std::vector<Document> read_documents(Readers::Turn& turn, const std::string& kind,
                                     const std::string& after, std::size_t limit) {
  std::vector<Document> found;
  Rows rows(turn("SELECT key, body, version FROM documents WHERE kind = ? AND key > ?"
                 " ORDER BY key LIMIT ?")
                .bind(kind, after, bounded(limit)));
  while (rows.next()) {
    found.push_back({rows->text(0), rows->text(1), rows->as<std::uint64_t>(2)});
  }
  return found;
}

std::vector<AuditEntry> read_audit(Readers::Turn& turn, std::uint64_t after, std::size_t limit) {
  std::vector<AuditEntry> entries;
  if (limit == 0) return entries;
  std::string previous;
  Rows before(turn("SELECT hash FROM audit WHERE number = ?").bind(bounded(after)));
  if (before.next()) previous = before->text(0);
  Rows rows(turn("SELECT number, at, actor, act, subject, detail, hash FROM audit WHERE number > ?"
                 " ORDER BY number LIMIT ?")
                .bind(bounded(after), bounded(limit)));
  while (rows.next()) {
    AuditEntry entry;
    entry.number = rows->as<std::uint64_t>(0);
    entry.act = {rows->time(1), rows->text(2), rows->text(3), rows->text(4), rows->text(5)};
    entry.previous = previous;
    entry.hash = rows->text(6);
    previous = entry.hash;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<PoisonItem> read_poison(Readers::Turn& turn, const PoisonQuery& query) {
  std::vector<PoisonItem> items;
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const auto limit = static_cast<std::int64_t>(std::min<std::uint64_t>(query.limit, most));
  Statement& statement =
      query.instance
          ? turn(poison_of_instance).bind(*query.instance, query.kind, query.after, limit)
          : turn(poison_rows).bind(query.kind, query.after, limit);
  for (Rows rows(statement); rows.next();) {
    Head head = read_head(*rows);
    if (complete(turn, head)) items.push_back(poison_item_of(head.record));
  }
  return items;
}

std::optional<PoisonDetail> read_poison(Readers::Turn& turn, PoisonKind kind, std::int64_t number) {
  Rows rows(turn(by_number).bind(number));
  if (!rows.next() || rows->is_null(column::kind)) return std::nullopt;
  if (rows->number(column::kind) != static_cast<std::int64_t>(kind)) return std::nullopt;
  Head head = read_head(*rows);
  if (!is_poisoned(head.record.status) || !complete(turn, head)) return std::nullopt;
  return PoisonDetail{poison_item_of(head.record), head.record.message,
                      head.record.message->enqueued_at};
}

std::uint64_t count_poison(Readers::Turn& turn, PoisonKind kind) {
  Rows rows(
      turn("SELECT value FROM counters WHERE name = ?")
          .bind(kind == PoisonKind::activity ? "poison_activities" : "poison_orchestrations"));
  return rows.next() ? rows->as<std::uint64_t>(0) : 0;
}

}  // namespace dlo::sqlite
