#include "dlo/store/postgres/sheet_rows.h"

#include "dlo/store/postgres/words.h"
#include "dlo/store/rules.h"
#include "dlo/store/sql/codec.h"

namespace dlo::postgres {

using namespace sql;  // NOLINT: what every office on SQL shares

std::optional<std::string_view> view_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return std::string_view(*text);
}

FactsRow::FactsRow(const Sheet& sheet)
    : number(sheet.head->record.number),
      words(&made_words_),
      by_retries(sheet.head->record.profile.starts_with("booking-retry-api")),
      first_attempt_at(sheet.head->record.first_attempt_at),
      last_failed_at(sheet.head->record.last_failed_at) {
  const DeadLetter& r = sheet.head->record;
  if (sheet.prepared != nullptr) {
    facts = sheet.prepared->facts;
    words = &sheet.prepared->error_words;
  } else {
    made_facts_ = encode_facts(r);
    made_words_ = word_hashes(searched_error(r.failure));
    facts = made_facts_;
  }
  if (r.resolution) {
    resolved_at = r.resolution->at;
    resolved_by = r.resolution->by;
    resolution_notes = r.resolution->notes;
  }
  if (r.failure.text.size() > head_text_limit) {
    whole_text = std::string_view(r.failure.text).substr(0, searched_text_limit);
  }
}

std::string envelope_of(const Sheet& sheet) {
  if (sheet.prepared != nullptr) return sheet.prepared->envelope;
  return encode_envelope(*sheet.head->record.message);
}

}  // namespace dlo::postgres
