#include "dlo/store/sql/head.h"

#include "dlo/store/sql/codec.h"

namespace dlo::sql {

StatusClass class_of(Status status) noexcept {
  if (is_live(status)) return StatusClass::live;
  return is_open(status) ? StatusClass::open : StatusClass::closed;
}

PolicyKind policy_kind_of(std::uint32_t flags) noexcept {
  const std::size_t place = (flags & flag::policy) >> 5U;
  return place < every_policy_kind.size() ? every_policy_kind[place] : PolicyKind::never;
}

std::uint32_t policy_flags_of(std::string_view facts) noexcept {
  try {
    DeadLetter record;
    decode_facts(facts, record);
    return flags_of(kind_of_policy(record.policy));
  } catch (...) {
    return 0;
  }
}

std::string_view head_text(const DeadLetter& record) noexcept {
  return std::string_view(record.failure.text).substr(0, head_text_limit);
}

std::uint32_t flags_of(const DeadLetter& record, std::uint32_t before) noexcept {
  const bool cut = record.failure.text.size() > head_text_limit;
  return (before & flag::payload_searched) | (record.died ? flag::died : 0U) |
         (record.source_unsettled ? flag::source_unsettled : 0U) | (cut ? flag::text_cut : 0U) |
         (cut || !record.failure.causes.empty() ? flag::facts_searched : 0U) |
         flags_of(kind_of_policy(record.policy));
}

std::optional<TimePoint> due_at(const DeadLetter& record,
                                const std::optional<Lease>& lease) noexcept {
  if (lease || !is_claimable(record.status)) return std::nullopt;
  return record.next_retry_at;
}

std::optional<int> kind_of(const Message& message) noexcept {
  if (!message.owner) return std::nullopt;
  return message.owner->activity ? 1 : 0;
}

std::optional<std::string_view> instance_of(const Message& message) noexcept {
  if (!message.owner) return std::nullopt;
  return message.owner->instance;
}

std::optional<Id128> token_of(const std::optional<Lease>& lease) noexcept {
  if (!lease) return std::nullopt;
  return lease->token;
}

std::optional<TimePoint> end_of(const std::optional<Lease>& lease) noexcept {
  if (!lease) return std::nullopt;
  return lease->until;
}

}  // namespace dlo::sql
