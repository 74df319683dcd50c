#include "dlo/store/postgres/reading.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "dlo/store/postgres/books.h"
#include "dlo/store/postgres/columns.h"
#include "dlo/store/postgres/group_pages.h"
#include "dlo/store/sql/codec.h"
#include "dlo/store/sql/edit.h"

namespace dlo::postgres {

using namespace sql;  // NOLINT: what every office on SQL shares

namespace {

// The statements below say these two as numbers.
static_assert(static_cast<int>(Status::replaying) == 5 && static_cast<int>(Status::replayed) == 6);

const std::string by_id = "SELECT " + head_columns + " FROM records r WHERE r.id = $1";
const std::string by_number = "SELECT " + head_columns + " FROM records r WHERE r.number = $1";
const std::string of_id = " WHERE number = (SELECT number FROM records WHERE id = $1)";
// Joined, so that each number is looked for on its own shelf only.
const std::string bodies_of =
    "SELECT b.number, b.envelope, b.payload FROM unnest($1::bigint[]) n(number) JOIN bodies b ON "
    "b.number = n.number";
const std::string facts_of = "SELECT number, facts FROM details WHERE number = ANY($1)";
// Numbers that a shelf left free when it was left are nobody's.
const std::string unindexed =
    "SELECT greatest(0, o.number - p.number - coalesce((SELECT sum(s.next - 1 - greatest(s.filled, "
    "p.number)) FROM shelves s WHERE s.filled IS NOT NULL AND s.next - 1 > p.number), 0))::bigint "
    "+ (SELECT count(*) FROM moved_payloads) FROM office o, payload_progress p";
const std::string poison_rows = "SELECT " + head_columns +
                                " FROM records r WHERE r.kind = $1 AND r.number > $2 AND "
                                "r.class = 1 AND r.status NOT IN (5, 6)";
const std::string one_group =
    std::string("SELECT ") + group_columns +
    " FROM groups WHERE fingerprint = coalesce((SELECT into_group FROM strands WHERE fingerprint ="
    " $1), $1)";
const std::string strand_rows = std::string("SELECT ") + strand_columns +
                                " FROM strands WHERE into_group = (SELECT into_group FROM strands"
                                " WHERE fingerprint = $1) ORDER BY fingerprint";

std::int64_t bounded(std::uint64_t value) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(value, most));
}

void send_next_due(Connection& db, const ClaimFrom& from) {
  std::string where = "r.priority = p.p AND r.due_at IS NOT NULL";
  if (!from.source.empty()) {
    where += " AND substr(r.source, 1, 128) = substr($1, 1, 128) AND r.source = $1";
  }
  if (!from.without.empty()) where += " AND r.source <> ALL($2)";
  db.send(
      "SELECT min(d.due_at) FROM (VALUES (0::smallint), (1::smallint), (2::smallint)) p(p), "
      "LATERAL (SELECT r.due_at FROM records r WHERE " +
          where +
          " ORDER BY r.due_at LIMIT 1) d UNION ALL SELECT min(lease_until) FROM records WHERE "
          "lease_until IS NOT NULL",
      Params(from.source, from.without), Plan::once);
}

}  // namespace

void send_snapshot(Connection& db) {
  db.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
}

std::vector<Head> complete(Connection& db, std::vector<Head> heads) {
  std::vector<std::int64_t> numbers;
  for (const Head& head : heads) numbers.push_back(head.record.number);
  send_snapshot(db);
  db.send(bodies_of, Params(numbers));
  db.send(facts_of, Params(numbers));
  db.send("COMMIT");
  const std::vector<Rows> answers = db.finish();
  std::unordered_map<std::int64_t, std::pair<int, int>> places;  // of body and facts, from 1
  for (int i = 0; i < answers[1].size(); ++i) places[answers[1][i].number(0)].first = i + 1;
  for (int i = 0; i < answers[2].size(); ++i) places[answers[2][i].number(0)].second = i + 1;
  std::vector<Head> whole;
  for (Head& head : heads) {
    const auto [body, facts] = places[head.record.number];
    if (body == 0 || facts == 0) continue;
    auto message = std::make_shared<Message>(*head.record.message);
    read_body(answers[1][body - 1], 1, 2, *message);
    head.message = message;
    head.record.message = std::move(message);
    decode_facts(answers[2][facts - 1].view(1), head.record);
    whole.push_back(std::move(head));
  }
  return whole;
}

std::optional<RecordDetail> read_record(Connection& db, const RecordId& id) {
  send_snapshot(db);
  db.send(by_id, Params(id));
  db.send("SELECT envelope, payload FROM bodies" + of_id, Params(id));
  db.send("SELECT facts FROM details" + of_id, Params(id));
  db.send("SELECT attempt FROM attempts" + of_id + " ORDER BY n DESC", Params(id));
  db.send(std::string("SELECT ") + version_columns + " FROM versions" + of_id + " ORDER BY n",
          Params(id));
  db.send("COMMIT");
  const std::vector<Rows> answers = db.finish();
  if (answers[1].empty()) return std::nullopt;
  if (answers[2].empty() || answers[3].empty()) {
    throw Failed{Error{Code::corrupt, "postgres.get",
                       "record " + to_string(id) +
                           " has lost its body; nothing was changed; restore a backup"},
                 Trouble::statement, ""};
  }
  Head head = read_head(answers[1].front());
  read_body(answers[2].front(), 0, 1, *head.message);
  decode_facts(answers[3].front().view(0), head.record);
  RecordDetail detail{std::move(head.record), {}, {}};
  for (const Row row : answers[4]) detail.attempts.push_back(decode_attempt(row.view(0)));
  for (const Row row : answers[5]) detail.versions.push_back(read_version(row));
  return detail;
}

std::vector<Strand> read_strands(Connection& db, const Id128& fingerprint) {
  std::vector<Strand> strands;
  const Rows rows = db.ask(strand_rows, Params(fingerprint));
  for (const Row row : rows) strands.push_back(read_strand(row));
  return strands;
}

Aggregate read_aggregate(Connection& db, const AggregateRequest& request) {
  const bool some_groups = !request.only_group && request.groups > 0;
  send_snapshot(db);
  db.send(Books::read_office);
  db.send(unindexed);
  if (request.tallies) {
    db.send(
        "SELECT source, status, category, count FROM tallies WHERE count <> 0 "
        "ORDER BY source, status, category");
    db.send("SELECT status, kind, count FROM policies WHERE count <> 0 ORDER BY status, kind");
  }
  if (request.only_group) {
    db.send(one_group, Params(*request.only_group));
    db.send(strand_rows, Params(*request.only_group));
  }
  GroupPages groups(request);
  if (some_groups) groups.send(db);
  if (request.due) send_next_due(db, *request.due);
  db.send("COMMIT");
  const std::vector<Rows> answers = db.finish();

  Aggregate answer;
  std::size_t next = 1;
  const Rows& office = answers[next++];
  answer.last_change = office.front().as<std::uint64_t>(0);
  answer.unindexed_payloads = answers[next++].front().as<std::uint64_t>(0);
  if (request.tallies) {
    answer.lifetime = read_lifetime(office.front());
    for (const Row row : answers[next++]) {
      answer.tallies.push_back(
          {row.text(0), row.as<Status>(1), row.text(2), row.as<std::uint64_t>(3)});
    }
    for (const Row row : answers[next++]) {
      answer.policies.push_back(
          {row.as<Status>(0), row.as<PolicyKind>(1), row.as<std::uint64_t>(2)});
    }
  }
  if (request.only_group) {
    for (const Row row : answers[next++]) answer.groups.push_back(read_group(row));
    for (const Row row : answers[next++]) answer.strands.push_back(read_strand(row).own);
  }
  if (some_groups) {
    groups.take(answers[next], answers[next + 1]);
    next += 2;
  }
  if (request.due) {
    for (const Row row : answers[next++]) {
      if (row.is_null(0)) continue;
      answer.next_due = answer.next_due ? std::min(*answer.next_due, row.time(0)) : row.time(0);
    }
  }
  if (!some_groups) return answer;
  while (groups.goes_on()) {
    groups.send(db);
    const std::vector<Rows> more = db.finish();
    groups.take(more[0], more[1]);
  }
  groups.put_into(answer);
  return answer;
}

std::vector<ChangeNote> read_changes(Connection& db, std::uint64_t after, std::size_t limit) {
  std::vector<ChangeNote> notes;
  const Rows rows =
      db.ask("SELECT change, id, status FROM records WHERE change > $1 ORDER BY change LIMIT $2",
             Params(bounded(after), bounded(limit)));
  for (const Row row : rows) {
    notes.push_back({row.as<std::uint64_t>(0), RecordId{row.id(1)}, row.as<Status>(2)});
  }
  return notes;
}

std::optional<Document> read_document(Connection& db, const std::string& kind,
                                      const std::string& key) {
  const Rows rows = db.ask("SELECT key, body, version FROM documents WHERE kind = $1 AND key = $2",
                           Params(kind, key));
  if (rows.empty()) return std::nullopt;
  const Row row = rows.front();
  return Document{row.text(0), row.text(1), row.as<std::uint64_t>(2)};
}

std::vector<Document> read_documents(Connection& db, const std::string& kind,
                                     const std::string& after, std::size_t limit) {
  std::vector<Document> found;
  const Rows rows = db.ask(
      "SELECT key, body, version FROM documents WHERE kind = $1 AND key > $2 ORDER BY key LIMIT $3",
      Params(kind, after, bounded(limit)));
  for (const Row row : rows) {
    found.push_back({row.text(0), row.text(1), row.as<std::uint64_t>(2)});
  }
  return found;
}

std::vector<AuditEntry> read_audit(Connection& db, std::uint64_t after, std::size_t limit) {
  std::vector<AuditEntry> entries;
  if (limit == 0) return entries;
  // The entry ahead comes along: each carries the hash of the one before it.
  const std::int64_t first = bounded(after);
  const Rows rows = db.ask(
      "SELECT number, at, actor, act, subject, detail, hash FROM audit WHERE number >= $1 ORDER BY "
      "number LIMIT $2",
      Params(first, bounded(limit == std::numeric_limits<std::size_t>::max() ? limit : limit + 1)));
  std::string previous;
  for (const Row row : rows) {
    AuditEntry entry;
    entry.number = row.as<std::uint64_t>(0);
    entry.act = {row.time(1), row.text(2), row.text(3), row.text(4), row.text(5)};
    entry.previous = std::exchange(previous, row.text(6));
    entry.hash = previous;
    if (row.number(0) > first && entries.size() < limit) entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<PoisonItem> read_poison(Connection& db, const PoisonQuery& query) {
  std::string sql = poison_rows;
  if (query.instance)
    sql += " AND substr(r.instance, 1, 128) = substr($4, 1, 128) AND r.instance = $4";
  sql += " ORDER BY r.number LIMIT $3";
  const Rows rows = db.ask(
      sql, Params(query.kind, query.after, bounded(query.limit), query.instance.value_or("")),
      Plan::once);
  std::vector<Head> heads;
  for (const Row row : rows) heads.push_back(read_head(row));
  std::vector<PoisonItem> items;
  for (const Head& head : complete(db, std::move(heads))) {
    items.push_back(poison_item_of(head.record));
  }
  return items;
}

std::optional<PoisonDetail> read_poison(Connection& db, PoisonKind kind, std::int64_t number) {
  const Rows rows = db.ask(by_number, Params(number));
  if (rows.empty() || rows.front().is_null(column::kind)) return std::nullopt;
  if (rows.front().number(column::kind) != static_cast<std::int64_t>(kind)) return std::nullopt;
  std::vector<Head> heads;
  heads.push_back(read_head(rows.front()));
  if (!is_poisoned(heads.front().record.status)) return std::nullopt;
  heads = complete(db, std::move(heads));
  if (heads.empty()) return std::nullopt;
  const DeadLetter& record = heads.front().record;
  return PoisonDetail{poison_item_of(record), record.message, record.message->enqueued_at};
}

std::uint64_t count_poison(Connection& db, PoisonKind kind) {
  const Rows rows = db.ask(Books::read_office);
  return rows.front().as<std::uint64_t>(kind == PoisonKind::activity ? 5 : 4);
}

}  // namespace dlo::postgres
