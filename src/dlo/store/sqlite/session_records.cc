// How the writer stores, changes and removes one record with all that belongs to it.
#include "dlo/core/sealed.h"
#include "dlo/store/sql/codec.h"
#include "dlo/store/sqlite/facets.h"
#include "dlo/store/sqlite/session.h"

namespace dlo::sqlite {
namespace {

std::optional<Bytes> bytes_of(const std::optional<std::string>& payload) {
  if (!payload) return std::nullopt;
  return Bytes{*payload};
}

/// Whether anything but status and what `touched` covers differs.
bool is_rewritten(const DeadLetter& before, const DeadLetter& after) {
  return before.category != after.category || before.fingerprint.hash != after.fingerprint.hash ||
         before.reason != after.reason || before.failure.type != after.failure.type ||
         before.died_at != after.died_at || before.failure.text != after.failure.text;
}

}  // namespace

PreparedAppend Session::prepare(const Append& append) {
  return {prepare_append(append), facets_of(*append.record)};
}

std::optional<std::int64_t> Session::insert(const PreparedAppend& append) {
  const DeadLetter& record = append.record;
  const Message& message = *record.message;
  const Counters& c = record.counters;
  const Sequences before = books_.sequences();
  const std::int64_t number = books_.next_number();
  const std::uint32_t searched = payload_flag(message);
  insert_head_.bind(number, record.next_retry_at, due_at(record, std::nullopt),
                    books_.next_change(), c.fetch, c.attempt, c.failure, c.abandon, c.retry,
                    c.replay, c.total, record.limit, flags_of(record, searched),
                    append.attempts.size(), record.status, class_of(record.status),
                    record.occurrence, message.source, record.category, record.fingerprint.hash,
                    message.event_type, message.key, message.id, record.reason, record.failure.type,
                    record.died_at, payload_size(message), kind_of(message), instance_of(message),
                    head_text(record), record.id, append.facets, message.priority);
  insert_head_.run();
  if (db_->changed_rows() == 0) {
    books_.give_back(before);  // a repeat writes nothing at all, not even a sequence
    return std::nullopt;
  }
  wrote_ = true;

  write_body(number, message, append.envelope);
  insert_facts_.bind(number, Bytes{append.facts}).run();
  for (std::uint32_t place = 0; place < append.attempts.size(); ++place) {
    add_attempt(number, place, append.attempts[place]);
  }
  books_.add_words(number, append.words);
  books_.move(nullptr, &record);
  return number;
}

std::uint32_t Session::payload_flag(const Message& message) const {
  const bool text = message.payload && !is_sealed(std::string_view(*message.payload));
  return text && searches_payload_(message.source) ? flag::payload_searched : 0;
}

void Session::note_leaving(std::int64_t number, std::uint32_t flags, const Message* comes,
                           std::uint32_t new_flags) {
  const bool leaves = (flags & flag::payload_searched) != 0;
  const bool enters = (new_flags & flag::payload_searched) != 0;
  if (!leaves && !enters) return;
  std::optional<Bytes> words;
  if (enters) words = Bytes{searched_payload(*comes)};
  run(note_leaving_.bind(number, leaves, words, searched_text_limit));
}

void Session::forget_leaving(std::int64_t last) {
  run(forget_leaving_.bind(last));
}

void Session::write_body(std::int64_t number, const Message& message, const std::string& envelope) {
  std::optional<std::uint64_t> execution;
  std::optional<std::uint64_t> activity;
  std::optional<std::string_view> name;
  if (message.owner) {
    execution = message.owner->execution;
    if (message.owner->activity) {
      activity = message.owner->activity->id;
      name = message.owner->activity->name;
    }
  }
  insert_body_.bind(number, message.enqueued_at, execution, activity, name, Bytes{envelope},
                    bytes_of(message.payload));
  run(insert_body_);
}

void Session::update(const Edit& edit) {
  const std::int64_t number = edit.before.record.number;
  const std::int64_t seat = move_words(edit);
  write_head(edit, seat);
  if (edit.facts) {
    const std::string facts = encode_facts(edit.after);
    write_facts_.bind(number, Bytes{facts});
    run(write_facts_);
  }
  if (edit.message) {
    const Message& message = *edit.after.message;
    note_leaving(number, edit.before.flags, &message, payload_flag(message));
    write_body(number, message, encode_envelope(message));
  }
  books_.move(&edit.before.record, &edit.after);
}

std::int64_t Session::move_words(const Edit& edit) {
  const DeadLetter& before = edit.before.record;
  const DeadLetter& after = edit.after;
  const bool died_again = before.died_at != after.died_at;
  if (!edit.facts && !died_again) return edit.before.seat;
  std::string was = searched_error(before.failure);
  std::string is = searched_error(after.failure);
  if (!died_again && was == is) return edit.before.seat;
  books_.remove_words(edit.before.seat, std::move(was));
  const std::int64_t seat = died_again ? books_.next_number() : edit.before.seat;
  books_.add_words(seat, std::move(is));
  if (!died_again) return seat;
  if (edit.before.seat != before.number) run(delete_seat_.bind(edit.before.seat));
  run(add_seat_.bind(seat, before.number));
  return seat;
}

void Session::write_head(const Edit& edit, std::int64_t seat) {
  const DeadLetter& before = edit.before.record;
  const DeadLetter& r = edit.after;
  const Message& m = *r.message;
  const Counters& c = r.counters;
  const StatusClass now_class = class_of(r.status);
  const bool whole = edit.message || is_rewritten(before, r);
  Statement& statement = whole                                  ? rewrite_
                         : class_of(before.status) != now_class ? move_class_
                         : before.status != r.status            ? move_status_
                                                                : touch_;
  // Without the facts the causes are not here: what the flags say of the text stays.
  const std::uint32_t text_flags = flag::facts_searched | flag::text_cut;
  std::uint32_t flags = flags_of(r, edit.message ? payload_flag(m) : edit.before.flags);
  if (!edit.facts) flags = (flags & ~text_flags) | (edit.before.flags & text_flags);
  statement.bind(before.number, r.next_retry_at, due_at(r, edit.lease), token_of(edit.lease),
                 end_of(edit.lease), r.version, r.change, c.fetch, c.attempt, c.failure, c.abandon,
                 c.retry, c.replay, c.total, r.limit, flags, edit.tries);
  if (&statement != &touch_) statement.bind_at(18, r.status);
  if (&statement == &move_class_ || whole) statement.bind_at(19, now_class);
  if (whole) {
    const std::uint64_t size = edit.message ? payload_size(m) : edit.before.payload_size;
    statement.bind_from(20, r.occurrence, m.source, r.category, r.fingerprint.hash, m.event_type,
                        m.key, m.id, r.reason, r.failure.type, r.died_at, size, seat, kind_of(m),
                        instance_of(m), head_text(r), facets_of(r), m.priority);
  }
  run(statement);
}

void Session::update_lease(const Head& head, const std::optional<Lease>& lease) {
  write_lease_.bind(head.record.number, due_at(head.record, lease), token_of(lease), end_of(lease));
  run(write_lease_);
}

void Session::settle_source(const RecordId& id, std::uint32_t occurrence) {
  settle_source_.bind(id, occurrence, flag::source_unsettled).run();
  wrote_ = wrote_ || db_->changed_rows() > 0;
}

void Session::remove(Head& head) {
  const std::int64_t number = head.record.number;
  load_facts(head);
  books_.remove_words(head.seat, searched_error(head.record.failure));
  note_leaving(number, head.flags, nullptr, 0);
  for (Statement* statement :
       {&delete_head_, &delete_body_, &delete_facts_, &delete_attempts_, &delete_versions_}) {
    run(statement->bind(number));
  }
  if (head.seat != number) run(delete_seat_.bind(head.seat));
  books_.move(&head.record, nullptr);
}

void Session::add_attempt(std::int64_t number, std::uint32_t place, const std::string& encoded) {
  insert_attempt_.bind(number, place, Bytes{encoded});
  run(insert_attempt_);
  // The first stays, and of the others the newest: place 1 goes when place 50 comes.
  if (place >= attempts_kept) run(delete_attempt_.bind(number, place - (attempts_kept - 1)));
}

void Session::add_version(std::int64_t number, const Version& version) {
  const std::string headers = encode_headers(version.headers);
  insert_version_.bind(number, version.number, version.at, version.by, version.why, Bytes{headers},
                       bytes_of(version.payload));
  run(insert_version_);
}

}  // namespace dlo::sqlite
