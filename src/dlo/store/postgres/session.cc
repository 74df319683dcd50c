#include "dlo/store/postgres/session.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "dlo/store/postgres/columns.h"
#include "dlo/store/postgres/node_seat.h"
#include "dlo/store/postgres/schema.h"
#include "dlo/store/postgres/words.h"
#include "dlo/store/sql/codec.h"

namespace dlo::postgres {

using namespace sql;  // NOLINT: what every office on SQL shares

namespace {

constexpr int facts_column = 34;

const std::string heads_by_id = "SELECT " + head_columns + " FROM records r WHERE r.id = ANY($1)";
const std::string heads_with_facts =
    "SELECT " + head_columns +
    ", d.facts FROM records r JOIN details d ON d.number = r.number WHERE r.id = ANY($1)";
const std::string heads_by_number =
    "SELECT " + head_columns + " FROM records r WHERE r.number = ANY($1)";
const std::string lock_office = "SELECT pg_advisory_xact_lock($1)";
const std::string read_documents =
    "SELECT kind, key, version FROM documents WHERE (kind, key) IN "
    "(SELECT * FROM unnest($1::bytea[], $2::bytea[]))";
const std::string read_document = "SELECT version FROM documents WHERE kind = $1 AND key = $2";
const std::string write_mark =
    "INSERT INTO writers(id, mark) VALUES($1, $2) ON CONFLICT(id) DO UPDATE SET mark = "
    "excluded.mark, since = now()";
const std::string tell_others =
    "SELECT pg_notify(convert_from($1, 'UTF8'), convert_from($2, 'UTF8'))";

std::uint64_t draw() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

std::vector<Id128> list_of(const std::set<RecordId>& ids) {
  return {ids.begin(), ids.end()};
}

}  // namespace

sql::Failed translated(const Failed& failed) {
  if (failed.state == read_only) return {failed.error, Loss::final_answer};
  switch (failed.trouble) {
    case Trouble::collision:
    case Trouble::lost:
      return {failed.error, Loss::again};
    case Trouble::cancelled:
      return {failed.error, Loss::final_answer};
    case Trouble::statement:
      break;
  }
  const bool waited = failed.state == "55P03";
  return {failed.error, waited ? Loss::final_answer : Loss::rolled_back};
}

PreparedAppend Session::prepare(const Append& append) {
  PreparedAppend prepared{prepare_append(append), {}};
  prepared.error_words = word_hashes(prepared.words);
  return prepared;
}

Session::Session(Link link, const std::string& schema,
                 std::function<bool(const std::string&)> searches_payload, std::string hints_as)
    : link_(std::move(link)),
      lock_(writing_lock(schema)),
      searches_payload_(std::move(searches_payload)),
      books_(link_),
      hints_as_(std::move(hints_as)),
      channel_(hint_channel(schema)) {
  writer_.high = draw();
  writer_.low = draw();
}

void Session::begin() {
  translating([&] {
    desk_.clear();
    expected_.clear();
    expected_with_facts_.clear();
    expected_groups_.clear();
    expected_documents_.clear();
    expected_numbers_.clear();
    wrote_ = dirty_ = news_ = false;
    Connection& db = link_.use();
    if (db.in_transaction()) db.run("ROLLBACK");
  });
}

void Session::expect(const Change& change) {
  struct Expecting {
    Session& s;
    void operator()(const Append& c) const {
      s.expected_.insert(c.record->id);
      s.expected_groups_.insert(c.record->fingerprint.hash);
    }
    void operator()(const Transition& c) const {
      s.expected_with_facts_.insert(c.id);
      if (c.fingerprint) s.expected_groups_.insert(c.fingerprint->hash);
    }
    void operator()(const SourceSettled& c) const { s.expected_.insert(c.id); }
    void operator()(const AddAttempt& c) const { s.expected_.insert(c.id); }
    void operator()(const AddVersion& c) const { s.expected_.insert(c.id); }
    void operator()(const EditGroup& c) const { s.expected_groups_.insert(c.fingerprint); }
    void operator()(const MergeGroups& c) const {
      s.expected_groups_.insert(c.from);
      s.expected_groups_.insert(c.into);
    }
    void operator()(const SplitGroup& c) const { s.expected_groups_.insert(c.fingerprint); }
    void operator()(const PutDocument& c) const { s.expected_documents_.insert({c.kind, c.key}); }
    void operator()(const ExpectDocument& c) const {
      s.expected_documents_.insert({c.kind, c.key});
    }
    void operator()(const JobCheckpoint&) const {}
    void operator()(const AddAudit&) const {}
    void operator()(const Remove& c) const { s.expected_.insert(c.id); }
  };
  std::visit(Expecting{*this}, change);
}

void Session::send_begin() {
  Connection& db = link_.use();
  db.send("BEGIN");
  db.send(lock_office, Params(lock_));
  db.send(Books::read_office);
}

void Session::look_up() {
  translating([&] {
    send_begin();
    for (const RecordId& id : expected_with_facts_) expected_.erase(id);
    const std::vector<Id128> groups(expected_groups_.begin(), expected_groups_.end());
    send_questions(groups);
    const std::vector<Rows> answers = link_.use().finish();
    if (answers[2].empty()) {
      throw Failed{
          Error{Code::corrupt, "postgres", "the table `office` has lost its row; restore a backup"},
          Trouble::statement, ""};
    }
    books_.open(answers[2].front());
    take_answers(std::span(answers).subspan(3), groups);
    for (const RecordId& id : expected_) desk_.lay(id, {});
    for (const RecordId& id : expected_with_facts_) desk_.lay(id, {});
    for (const DocumentKey& key : expected_documents_) desk_.lay(key, {});
    look_up_more_groups();
  });
}

/// Only those that somebody has: each costs the server as much as a row.
void Session::send_questions(const std::vector<Id128>& groups) {
  Connection& db = link_.use();
  if (!expected_.empty()) db.send(heads_by_id, Params(list_of(expected_)));
  if (!expected_with_facts_.empty()) {
    db.send(heads_with_facts, Params(list_of(expected_with_facts_)));
  }
  if (!expected_numbers_.empty()) db.send(heads_by_number, Params(expected_numbers_));
  if (!expected_documents_.empty()) {
    std::vector<std::string> kinds;
    std::vector<std::string> keys;
    for (const auto& [kind, key] : expected_documents_) {
      kinds.push_back(kind);
      keys.push_back(key);
    }
    db.send(read_documents, Params(kinds, keys));
  }
  if (!groups.empty()) books_.ask_for(groups);
}

/// In the order of the questions.
void Session::take_answers(std::span<const Rows> answers, const std::vector<Id128>& groups) {
  const auto* next = answers.data();
  if (!expected_.empty()) lay_rows(*next++, false);
  if (!expected_with_facts_.empty()) lay_rows(*next++, true);
  if (!expected_numbers_.empty()) lay_rows(*next++, false);
  if (!expected_documents_.empty()) {
    for (const Row row : *next++) {
      desk_.lay(DocumentKey(row.text(0), row.text(1)),
                {row.as<std::uint64_t>(2), std::nullopt, false});
    }
  }
  if (!groups.empty()) books_.take(groups, next[0], next[1]);
}

/// Those of records that were there already: a second round trip, where there are any.
void Session::look_up_more_groups() {
  std::set<Id128> more;
  for (const auto& [id, sheet] : desk_.sheets()) {
    if (!sheet.head) continue;
    const Id128& group = sheet.head->record.fingerprint.hash;
    if (!expected_groups_.contains(group)) more.insert(group);
  }
  if (more.empty()) return;
  const std::vector<Id128> groups(more.begin(), more.end());
  books_.ask_for(groups);
  const std::vector<Rows> answers = link_.use().finish();
  books_.take(groups, answers[0], answers[1]);
}

void Session::lay_rows(const Rows& rows, bool with_facts) {
  for (const Row row : rows) {
    Sheet sheet;
    sheet.head = read_head(row);
    sheet.version_there = sheet.head->record.version;
    sheet.has_facts = with_facts;
    if (with_facts) decode_facts(row.view(facts_column), sheet.head->record);
    const RecordId id = sheet.head->record.id;
    desk_.lay(id, std::move(sheet));
  }
}

void Session::set_savepoint() {
  saved_ = books_.save();
  desk_.set_way_back();
}

void Session::back_to_savepoint() {
  desk_.go_back();
  books_.restore(std::move(saved_));
}

void Session::roll_back() noexcept {
  try {
    desk_.clear();
    Connection* db = link_.current();
    if (db == nullptr) return;
    if (db->is_lost() || db->in_pipeline() > 0) {
      link_.drop();
    } else if (db->in_transaction()) {
      db->run("ROLLBACK");
    }
  } catch (...) {
    link_.drop();
  }
}

void Session::flush() {
  send_desk();
  finish_writes();
}

void Session::finish_writes() {
  if (link_.use().in_pipeline() == 0) return;
  const std::vector<Rows> answers = link_.use().finish();
  for (const std::size_t place : std::exchange(must_write_, {})) {
    if (answers[place].written() == 1) continue;
    throw Failed{Error{Code::unavailable, "postgres",
                       "a record was changed by somebody else while it was being written"},
                 Trouble::collision, ""};
  }
}

void Session::commit() {
  translating([&] {
    Connection& db = link_.use();
    if (!dirty_) return db.run("COMMIT");
    send_desk();
    books_.send();
    db.send(write_mark, Params(writer_, ++mark_));
    if (news_ && !hints_as_.empty()) db.send(tell_others, Params(channel_, hints_as_));
    // What compares is looked at before it may be committed; the rest goes in one round trip.
    const bool compares = !must_write_.empty();
    if (compares) finish_writes();
    try {
      db.send("COMMIT");
      finish_writes();
    } catch (const Failed& failed) {
      if (failed.trouble != Trouble::lost || failed.state == read_only) throw;
      settle_doubt();
    }
  });
}

/// The connection was lost while the server committed. Once the lock is ours the old transaction
/// is over, and our mark says how.
void Session::settle_doubt() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds{10};
  while (Clock::now() < deadline) {
    try {
      link_.drop();
      Connection& db = link_.use();
      db.send("BEGIN");
      db.send(lock_office, Params(lock_));
      db.send("SELECT mark FROM writers WHERE id = $1", Params(writer_));
      db.send("COMMIT");
      const std::vector<Rows> answers = db.finish();
      const Rows& found = answers[2];
      if (!found.empty() && found.front().number(0) == mark_) return;
      throw sql::Failed{Error{Code::unavailable, "postgres",
                              "the connection was lost and the server rolled back"},
                        Loss::again};
    } catch (const Failed& failed) {
      if (failed.trouble == Trouble::lost && tell_of_doubt_) tell_of_doubt_(failed.error);
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
  }
  throw sql::Failed{Error{Code::timed_out, "postgres",
                          "the connection was lost during the commit and the server did not come "
                          "back: whether it was written is not known. Read before trying again"},
                    Loss::final_answer};
}

Sheet& Session::sheet_of(const RecordId& id) {
  if (Sheet* known = desk_.find(id)) return *known;
  lay_rows(link_.use().ask(heads_by_id, Params(std::vector<Id128>{id})), false);
  return desk_.lay(id, {});
}

Sheet* Session::sheet_of(std::int64_t number) {
  if (Sheet* known = desk_.find(number)) return known;
  lay_rows(link_.use().ask(heads_by_number, Params(std::vector<std::int64_t>{number})), false);
  return desk_.find(number);
}

std::optional<Head> Session::find(const RecordId& id) {
  return sheet_of(id).head;
}

std::optional<Head> Session::find(std::int64_t number) {
  const Sheet* sheet = sheet_of(number);
  return sheet == nullptr ? std::nullopt : sheet->head;
}

std::optional<std::uint64_t> Session::document_version(const std::string& kind,
                                                       const std::string& key) {
  if (const DocumentSheet* known = desk_.find(DocumentKey(kind, key))) return known->version;
  const Rows rows = link_.use().ask(read_document, Params(kind, key));
  if (rows.empty()) return std::nullopt;
  return rows.front().as<std::uint64_t>(0);
}

std::uint64_t Session::put_document(const std::string& kind, const std::string& key,
                                    const std::optional<std::string>& body) {
  DocumentSheet& sheet = desk_.change(DocumentKey(kind, key));
  sheet.moved = true;
  sheet.body = body;
  sheet.version.reset();
  if (body) sheet.version = books_.next_change();
  news_ = true;
  mark_written();
  return sheet.version.value_or(0);
}

std::uint64_t Session::add_audit(const AddAudit& act) {
  const auto [number, hash] = books_.chain(act);
  desk_.add({number, act, hash});
  mark_written();
  return number;
}

}  // namespace dlo::postgres
