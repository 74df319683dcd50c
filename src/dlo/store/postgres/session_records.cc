// How the writer stores, changes and removes one record with all that belongs to it.
#include <algorithm>

#include "dlo/core/sealed.h"
#include "dlo/store/postgres/session.h"
#include "dlo/store/postgres/sheet_rows.h"
#include "dlo/store/sql/codec.h"

namespace dlo::postgres {

using namespace sql;  // NOLINT: what every office on SQL shares

namespace {

const std::string update_head =
    "UPDATE records SET occurrence = $3, status = $4, class = $5, source = $6, category = $7, "
    "grp = $8, event_type = $9, key = $10, message_id = $11, reason = $12, error_type = $13, "
    "died_at = $14, next_retry_at = $15, due_at = $16, lease = $17, lease_until = $18, "
    "version = $19, change = $20, fetches = $21, attempts = $22, failures = $23, abandons = $24, "
    "retries = $25, replays = $26, total = $27, most = $28, payload_size = $29, flags = $30, "
    "tries = $31, kind = $32, instance = $33, error_text = $34, priority = $35 "
    "WHERE number = $1 AND id = $2 AND version = $36";
const std::string replace_facts =
    "INSERT INTO details(number, facts, words, by_retries, first_attempt_at, last_failed_at, "
    "resolved_at, resolved_by, resolution_notes, whole_text) VALUES($1, $2, $3, $4, $5, $6, $7, "
    "$8, $9, $10) ON CONFLICT(number) DO UPDATE SET facts = excluded.facts, words = "
    "excluded.words, by_retries = excluded.by_retries, first_attempt_at = "
    "excluded.first_attempt_at, last_failed_at = excluded.last_failed_at, resolved_at = "
    "excluded.resolved_at, resolved_by = excluded.resolved_by, resolution_notes = "
    "excluded.resolution_notes, whole_text = excluded.whole_text";
const std::string replace_body =
    "INSERT INTO bodies(number, enqueued_at, envelope, payload) VALUES($1, $2, $3, $4) ON "
    "CONFLICT(number) DO UPDATE SET enqueued_at = excluded.enqueued_at, envelope = "
    "excluded.envelope, payload = excluded.payload";
const std::string note_moved_payload = "INSERT INTO moved_payloads(number) VALUES($1)";
const std::string delete_attempt = "DELETE FROM attempts WHERE number = $1 AND n = $2";
const std::string insert_version = std::string("INSERT INTO versions(number, ") + version_columns +
                                   ") VALUES($1, $2, $3, $4, $5, $6, $7)";
const std::string write_document =
    "INSERT INTO documents(kind, key, version, body) VALUES($1, $2, $3, $4) ON CONFLICT(kind, key) "
    "DO UPDATE SET version = excluded.version, body = excluded.body";
const std::string delete_document = "DELETE FROM documents WHERE kind = $1 AND key = $2";
const std::string insert_audit =
    "INSERT INTO audit(number, at, actor, act, subject, detail, hash) VALUES($1, $2, $3, $4, $5, "
    "$6, $7)";
// What lies on a shelf stays there until the shelf is dropped or cleared: see shelves.h.
const std::array<std::string, 7> deletions{
    "DELETE FROM records WHERE number = ANY($1)",
    "DELETE FROM details WHERE number = ANY($1)",
    "DELETE FROM versions WHERE number = ANY($1)",
    "DELETE FROM bodies_rest WHERE number = ANY($1)",
    "DELETE FROM attempts_rest WHERE number = ANY($1)",
    "DELETE FROM payload_words_rest WHERE number = ANY($1)",
    "UPDATE shelves s SET gone = s.gone + g.count, gone_since = coalesce(s.gone_since, now()) "
    "FROM (SELECT w.first, count(*) FROM unnest($1::bigint[]) n(number) JOIN shelves w ON "
    "n.number >= w.first AND n.number < w.next GROUP BY w.first) g WHERE s.first = g.first"};

}  // namespace

std::uint32_t Session::payload_flag(const Message& message) const {
  const bool text = message.payload && !is_sealed(std::string_view(*message.payload));
  return text && searches_payload_(message.source) ? flag::payload_searched : 0;
}

void Session::load_facts(Head& head) {
  Sheet& sheet = sheet_of(head.record.id);
  if (!sheet.has_facts) {
    const Rows rows =
        link_.use().ask("SELECT facts FROM details WHERE number = $1", Params(head.record.number));
    if (!rows.empty()) decode_facts(rows.front().view(0), sheet.head->record);
    sheet.has_facts = true;
  }
  head = *sheet.head;
}

void Session::load_message(Head& head) {
  Sheet& sheet = sheet_of(head.record.id);
  if (!sheet.has_message) {
    const Rows rows = link_.use().ask("SELECT envelope, payload FROM bodies WHERE number = $1",
                                      Params(head.record.number));
    auto message = std::make_shared<Message>(*sheet.head->record.message);
    if (!rows.empty()) read_body(rows.front(), 0, 1, *message);
    sheet.head->message = message;
    sheet.head->record.message = message;
    sheet.has_message = true;
  }
  head = *sheet.head;
}

std::vector<Version> Session::versions(std::int64_t number) {
  Sheet* sheet = sheet_of(number);
  if (sheet == nullptr) return {};
  if (!sheet->versions) {
    sheet->versions.emplace();
    if (!sheet->is_new) {
      static const std::string read =
          std::string("SELECT ") + version_columns + " FROM versions WHERE number = $1 ORDER BY n";
      const Rows rows = link_.use().ask(read, Params(number));
      for (const Row row : rows) sheet->versions->push_back(read_version(row));
    }
  }
  return *sheet->versions;
}

std::optional<std::int64_t> Session::insert(const PreparedAppend& append) {
  const RecordId id = append.record.id;
  if (sheet_of(id).head) return std::nullopt;
  Sheet& sheet = desk_.change(id);
  sheet = Sheet{};
  Head& head = sheet.head.emplace();
  head.record = append.record;
  head.record.number = books_.next_number();
  head.record.change = books_.next_change();
  head.payload_size = payload_size(*append.record.message);
  head.flags = flags_of(head.record, payload_flag(*append.record.message));
  head.tries = static_cast<std::uint32_t>(append.attempts.size());
  sheet.has_facts = sheet.has_message = sheet.is_new = true;
  sheet.prepared = &append;
  sheet.version_there = head.record.version;
  const std::int64_t number = head.record.number;
  desk_.name(number, id);
  for (std::uint32_t place = 0; place < append.attempts.size(); ++place) {
    sheet.attempts.emplace_back(place, append.attempts[place]);
  }
  books_.move(nullptr, &head.record);
  news_ = news_ || head.record.next_retry_at.has_value();
  mark_written();
  return number;
}

void Session::update(const Edit& edit) {
  // What was given may lie on the desk itself.
  const DeadLetter before = edit.before.record;
  const std::uint32_t flags_before = edit.before.flags;
  Sheet& sheet = desk_.change(before.id);
  Head& head = *sheet.head;
  const std::uint64_t size = head.payload_size;
  head.record = edit.after;
  head.lease = edit.lease;
  head.tries = edit.tries;
  const Message& message = *head.record.message;
  // Without the facts the causes are not here: what the flags say of the text stays.
  const std::uint32_t text_flags = flag::facts_searched | flag::text_cut;
  head.flags = flags_of(head.record, edit.message ? payload_flag(message) : flags_before);
  if (!edit.facts) head.flags = (head.flags & ~text_flags) | (flags_before & text_flags);
  head.payload_size = edit.message ? payload_size(message) : size;
  sheet.head_moved = true;
  sheet.facts_moved = sheet.facts_moved || edit.facts;
  sheet.message_moved = sheet.message_moved || edit.message;
  sheet.has_message = sheet.has_message || edit.message;
  if (edit.facts || edit.message) sheet.prepared = nullptr;
  books_.move(&before, &head.record);
  news_ = news_ || !head.lease;  // who leases one deals with it himself
  mark_written();
}

void Session::update_lease(const Head& head, const std::optional<Lease>& lease) {
  const RecordId id = head.record.id;
  Sheet& sheet = desk_.change(id);
  sheet.head->lease = lease;
  sheet.head_moved = true;
  mark_written();
}

void Session::settle_source(const RecordId& id, std::uint32_t occurrence) {
  const Sheet& known = sheet_of(id);
  if (!known.head || known.head->record.occurrence != occurrence) return;
  if (!known.head->record.source_unsettled) return;
  Sheet& sheet = desk_.change(id);
  sheet.head->record.source_unsettled = false;
  sheet.head->flags &= ~flag::source_unsettled;
  sheet.head_moved = true;
  mark_written();
}

void Session::remove(Head& head) {
  const DeadLetter record = head.record;
  desk_.remove(record.id);
  books_.move(&record, nullptr);
  mark_written();
}

void Session::add_attempt(std::int64_t number, std::uint32_t place, const std::string& encoded) {
  const Sheet* known = sheet_of(number);
  if (known == nullptr) return;
  Sheet& sheet = desk_.change(known->head->record.id);
  sheet.attempts.emplace_back(place, encoded);
  mark_written();
}

void Session::add_version(std::int64_t number, const Version& version) {
  const Sheet* known = sheet_of(number);
  if (known == nullptr) return;
  Sheet& sheet = desk_.change(known->head->record.id);
  if (sheet.versions) sheet.versions->push_back(version);
  sheet.added_versions.push_back(version);
  mark_written();
}

void Session::send_desk() {
  Connection& db = link_.use();
  sent_ = 0;
  must_write_.clear();
  const std::vector<std::int64_t> gone = std::exchange(desk_.gone(), {});
  if (!gone.empty()) {
    for (const std::string& sql : deletions) {
      db.send(sql, Params(gone));
      ++sent_;
    }
  }
  send_sheets();
  for (auto& [key, sheet] : desk_.documents()) {
    if (!sheet.moved) continue;
    sheet.moved = false;
    if (sheet.body) {
      db.send(write_document, Params(key.first, key.second, *sheet.version, *sheet.body));
    } else {
      db.send(delete_document, Params(key.first, key.second));
    }
    sheet.body.reset();
    ++sent_;
  }
  for (const AuditSheet& entry : std::exchange(desk_.audit(), {})) {
    db.send(insert_audit, Params(entry.number, entry.act.at, entry.act.actor, entry.act.act,
                                 entry.act.subject, entry.act.detail, entry.hash));
    ++sent_;
  }
}

/// In the order of their numbers: what is written next to each other lies next to each other.
void Session::send_sheets() {
  std::vector<Sheet*> moved;
  for (auto& [id, sheet] : desk_.sheets()) {
    if (sheet.head && sheet.is_moved()) moved.push_back(&sheet);
  }
  std::ranges::sort(moved, {}, [](const Sheet* sheet) { return sheet->head->record.number; });
  arrivals_.clear();
  for (Sheet* sheet : moved) {
    send_sheet(*sheet);
    if (arrivals_.are_many()) sent_ += arrivals_.send(link_.use());
  }
  sent_ += arrivals_.send(link_.use());
  for (Sheet* sheet : moved) send_old_attempts_away(*sheet);
}

void Session::send_sheet(Sheet& sheet) {
  if (sheet.is_new) arrivals_.add(sheet);
  if (!sheet.is_new && sheet.head_moved) send_head(sheet);
  if (!sheet.is_new && sheet.facts_moved) send_facts(sheet);
  if (!sheet.is_new && sheet.message_moved) send_body(sheet);
  send_rest(sheet);
  sheet.version_there = sheet.head->record.version;
  sheet.is_new = sheet.head_moved = sheet.facts_moved = sheet.message_moved = false;
  sheet.prepared = nullptr;
}

void Session::send_head(const Sheet& sheet) {
  Params params = with_head(*sheet.head, [](const auto&... values) { return Params(values...); });
  params.add(sheet.version_there);
  must_write_.push_back(sent_);
  link_.use().send(update_head, params);
  ++sent_;
}

void Session::send_facts(const Sheet& sheet) {
  const FactsRow row(sheet);
  link_.use().send(replace_facts, Params(row.number, row.facts, *row.words, row.by_retries,
                                         row.first_attempt_at, row.last_failed_at, row.resolved_at,
                                         row.resolved_by, row.resolution_notes, row.whole_text));
  ++sent_;
}

void Session::send_body(const Sheet& sheet) {
  const DeadLetter& r = sheet.head->record;
  const std::string envelope = envelope_of(sheet);
  Connection& db = link_.use();
  db.send(replace_body,
          Params(r.number, r.message->enqueued_at, envelope, view_of(r.message->payload)));
  db.send(note_moved_payload, Params(r.number));
  sent_ += 2;
}

void Session::send_rest(Sheet& sheet) {
  Connection& db = link_.use();
  const std::int64_t number = sheet.head->record.number;
  for (const auto& [place, encoded] : sheet.attempts) {
    arrivals_.add_attempt(number, place, encoded);
  }
  for (const Version& version : std::exchange(sheet.added_versions, {})) {
    const std::string headers = encode_headers(version.headers);
    db.send(insert_version, Params(number, version.number, version.at, version.by, version.why,
                                   headers, view_of(version.payload)));
    ++sent_;
  }
}

/// The first stays, and of the others the newest: place 1 goes when place 50 has come.
void Session::send_old_attempts_away(Sheet& sheet) {
  for (const auto& [place, encoded] : std::exchange(sheet.attempts, {})) {
    if (place < attempts_kept) continue;
    link_.use().send(delete_attempt,
                     Params(sheet.head->record.number, place - (attempts_kept - 1)));
    ++sent_;
  }
}

}  // namespace dlo::postgres
