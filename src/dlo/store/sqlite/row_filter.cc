#include "dlo/store/sqlite/row_filter.h"

#include <algorithm>

#include "dlo/store/rules.h"
#include "dlo/store/sql/codec.h"
#include "dlo/store/sql/head.h"

namespace dlo::sqlite {
namespace {

bool wanted(const std::optional<std::string>& filter, const Statement& row, int place) {
  return !filter || row.view(place) == *filter;
}

}  // namespace

RowFilter::RowFilter(const Query& query)
    : query_(query),
      error_words_(words_of(query.error_words)),
      payload_words_(words_of(query.payload_words)),
      ask_error_words_(!error_words_.empty()),
      ask_payload_words_(!payload_words_.empty()),
      tests_(query) {
  for (const Status status : query.statuses) statuses_ |= 1U << static_cast<unsigned>(status);
  if (!query.statuses.empty()) return;
  for (const Status status : all_statuses()) {
    if (!is_live(status)) statuses_ |= 1U << static_cast<unsigned>(status);
  }
}

bool RowFilter::fits(Readers::Turn& turn, const Statement& row) const {
  return fits_head(row) && (!ask_error_words_ || has_error_words(turn, row)) &&
         (!ask_payload_words_ || has_payload_words(turn, row)) && tests_fit(turn, row);
}

bool RowFilter::reads_bodies() const noexcept {
  return tests_.look_at(Part::envelope) || tests_.look_at(Part::payload);
}

bool RowFilter::tests_fit(Readers::Turn& turn, const Statement& row) const {
  const bool facts = tests_.look_at(Part::facts);
  if (!facts && !tests_.look_at(Part::head) && !reads_bodies()) return true;
  Head head = read_head(row);
  if (!tests_.fit(head.record, Part::head)) return false;
  const std::int64_t number = head.record.number;
  if (facts) {
    Rows details(turn("SELECT facts FROM details WHERE number = ?").bind(number));
    if (details.next()) decode_facts(details->view(0), head.record);
    if (!tests_.fit(head.record, Part::facts)) return false;
  }
  if (tests_.look_at(Part::envelope)) {
    Rows body(turn("SELECT envelope FROM bodies WHERE number = ?").bind(number));
    if (body.next()) decode_envelope(body->view(0), *head.message);
    if (!tests_.fit(head.record, Part::envelope)) return false;
  }
  if (!tests_.look_at(Part::payload)) return true;
  Rows body(turn("SELECT payload FROM bodies WHERE number = ?").bind(number));
  if (body.next() && !body->is_null(0)) head.message->payload = body->text(0);
  return tests_.fit(head.record, Part::payload);
}

bool RowFilter::fits_head(const Statement& row) const {
  const Query& q = query_;
  if (!wants(row.as<Status>(column::status))) return false;
  const HeadNumbers numbers{row.time(column::died_at), row.maybe_time(column::next_retry_at),
                            row.as<std::uint32_t>(column::counters + 1),
                            row.as<std::uint32_t>(column::counters + 5),
                            row.as<std::uint64_t>(column::change)};
  if (!numbers_fit(q, numbers)) return false;
  if (!q.ids.empty()) {
    const RecordId id{row.id(column::id)};
    if (std::find(q.ids.begin(), q.ids.end(), id) == q.ids.end()) return false;
  }
  if (q.source_unsettled) {
    const bool unsettled = (row.as<std::uint32_t>(column::flags) & flag::source_unsettled) != 0;
    if (unsettled != *q.source_unsettled) return false;
  }
  if (q.group && !is_in_group(q, row.id(column::group))) return false;
  if (q.instance && row.is_null(column::instance)) return false;
  return wanted(q.source, row, column::source) && wanted(q.category, row, column::category) &&
         wanted(q.event_type, row, column::event_type) && wanted(q.key, row, column::key) &&
         wanted(q.message_id, row, column::message_id) &&
         wanted(q.error_type, row, column::error_type) && wanted(q.reason, row, column::reason) &&
         wanted(q.instance, row, column::instance);
}

Failure read_failure(Readers::Turn& turn, const Statement& row) {
  DeadLetter record;
  record.failure.text = row.text(column::error_text);
  Rows facts(turn("SELECT facts FROM details WHERE number = ?").bind(row.number(column::number)));
  if (facts.next()) decode_facts(facts->view(0), record);
  return std::move(record.failure);
}

bool RowFilter::has_error_words(Readers::Turn& turn, const Statement& row) const {
  if ((row.as<std::uint32_t>(column::flags) & flag::facts_searched) == 0) {
    return has_words(row.view(column::error_text), error_words_);
  }
  return has_words(searched_error(read_failure(turn, row)), error_words_);
}

bool RowFilter::has_payload_words(Readers::Turn& turn, const Statement& row) const {
  if ((row.as<std::uint32_t>(column::flags) & flag::payload_searched) == 0) return false;
  Rows payload(turn("SELECT substr(payload, 1, ?2) FROM bodies WHERE number = ?1")
                   .bind(row.number(column::number), searched_text_limit));
  return payload.next() && has_words(payload->view(0), payload_words_);
}

}  // namespace dlo::sqlite
