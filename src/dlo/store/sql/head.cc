#include "dlo/store/sql/head.h"

#include "dlo/store/sql/codec.h"

namespace dlo::sql {

StatusClass class_of(Status status) noexcept {
  if (is_live(status)) return StatusClass::live;
  return is_open(status) ? StatusClass::open : StatusClass::closed;
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

}  // namespace dlo::sql
