#include "dlo/store/sqlite/head.h"

#include "dlo/store/sqlite/codec.h"

namespace dlo::sqlite {

StatusClass class_of(Status status) noexcept {
  if (is_live(status)) return StatusClass::live;
  return is_open(status) ? StatusClass::open : StatusClass::closed;
}

Counters read_counters(const Statement& row) {
  Counters counters;
  int place = column::counters;
  for (std::uint32_t* counter :
       {&counters.fetch, &counters.attempt, &counters.failure, &counters.abandon, &counters.retry,
        &counters.replay, &counters.total}) {
    *counter = row.as<std::uint32_t>(place++);
  }
  return counters;
}

Head read_head(const Statement& row) {
  Head head;
  head.message = std::make_shared<Message>();
  head.message->source = row.text(column::source);
  head.message->event_type = row.text(column::event_type);
  head.message->key = row.text(column::key);
  head.message->id = row.text(column::message_id);
  DeadLetter& record = head.record;
  record.message = head.message;
  record.number = row.number(column::number);
  record.id = RecordId{row.id(column::id)};
  record.occurrence = row.as<std::uint32_t>(column::occurrence);
  record.status = row.as<Status>(column::status);
  record.category = row.text(column::category);
  record.fingerprint.hash = row.id(column::group);
  record.reason = row.text(column::reason);
  record.failure.type = row.text(column::error_type);
  record.failure.text = row.text(column::error_text);
  record.died_at = row.time(column::died_at);
  record.next_retry_at = row.maybe_time(column::next_retry_at);
  record.version = row.as<std::uint64_t>(column::version);
  record.change = row.as<std::uint64_t>(column::change);
  record.counters = read_counters(row);
  record.limit = row.as<std::uint32_t>(column::limit);
  if (!row.is_null(column::lease)) {
    head.lease = Lease{LeaseToken{row.id(column::lease)}, row.time(column::lease_until)};
  }
  head.payload_size = row.as<std::uint64_t>(column::payload_size);
  head.flags = row.as<std::uint32_t>(column::flags);
  head.tries = row.as<std::uint32_t>(column::tries);
  head.seat = row.number(column::seat);
  record.source_unsettled = (head.flags & flag::source_unsettled) != 0;
  record.died = (head.flags & flag::died) != 0;
  if (!row.is_null(column::kind)) {
    Owner owner;  // enough to tell what kind of work it is; the envelope has the rest
    owner.instance = row.text(column::instance);
    if (row.number(column::kind) == 1) owner.activity.emplace();
    head.message->owner = std::move(owner);
  }
  return head;
}

RecordHead read_row(const Statement& row) {
  RecordHead head;
  head.id = RecordId{row.id(column::id)};
  head.occurrence = row.as<std::uint32_t>(column::occurrence);
  head.number = row.number(column::number);
  head.version = row.as<std::uint64_t>(column::version);
  head.change = row.as<std::uint64_t>(column::change);
  head.status = row.as<Status>(column::status);
  head.source = row.text(column::source);
  head.event_type = row.text(column::event_type);
  head.key = row.text(column::key);
  head.message_id = row.text(column::message_id);
  head.reason = row.text(column::reason);
  head.category = row.text(column::category);
  head.error_type = row.text(column::error_type);
  head.error_text = row.text(column::error_text);
  head.group = row.id(column::group);
  head.counters = read_counters(row);
  head.limit = row.as<std::uint32_t>(column::limit);
  head.died_at = row.time(column::died_at);
  head.next_retry_at = row.maybe_time(column::next_retry_at);
  head.payload_size = row.as<std::uint64_t>(column::payload_size);
  return head;
}

std::string_view head_text(const DeadLetter& record) noexcept {
  return std::string_view(record.failure.text).substr(0, head_text_limit);
}

std::uint32_t flags_of(const DeadLetter& record, std::uint32_t before) noexcept {
  const bool cut = record.failure.text.size() > head_text_limit;
  return (before & flag::payload_searched) | (record.died ? flag::died : 0U) |
         (record.source_unsettled ? flag::source_unsettled : 0U) | (cut ? flag::text_cut : 0U) |
         (cut || !record.failure.causes.empty() ? flag::facts_searched : 0U);
}

std::optional<TimePoint> due_at(const DeadLetter& record,
                                const std::optional<Lease>& lease) noexcept {
  if (lease || !is_claimable(record.status)) return std::nullopt;
  return record.next_retry_at;
}

}  // namespace dlo::sqlite
