#include "dlo/core/entity.h"

#include <algorithm>
#include <utility>

#include "dlo/core/encoding.h"
#include "dlo/core/field_hash.h"
#include "dlo/core/forms.h"

namespace dlo {
namespace {

constexpr std::size_t longest_kind = 64;
constexpr std::size_t longest_id = 200;

bool is_lower(char c) noexcept {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
char upper(char c) noexcept {
  return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}

/// order_shipment: OrderShipment
std::string camel(std::string_view name) {
  std::string out;
  bool begins = true;
  for (const char c : name) {
    if (c == '_' || c == '-') {
      begins = true;
      continue;
    }
    out += begins ? upper(c) : c;
    begins = false;
  }
  return out;
}

/// order_shipment: Order shipment
std::string sentence(std::string_view name) {
  std::string out(name);
  std::replace_if(out.begin(), out.end(), [](char c) { return c == '_' || c == '-'; }, ' ');
  if (!out.empty()) out.front() = upper(out.front());
  return out;
}

Failure last_failure(const Entity& entity) {
  Failure failure;
  failure.type = entity.error_type;
  failure.text = entity.error;
  return failure;
}

RetriesOver over(const EntityKind& kind, Entity entity, Decision decision,
                 const DeadLetterAs& death, TimePoint now) {
  Failure failure;
  failure.text = death.reason;  // ErrorMessage of the record (S1-28)
  if (!entity.error.empty() || !entity.error_type.empty()) {
    failure.causes.push_back({entity.error_type, entity.error});
  }
  entity.status = EntityStatus::permanently_failed;
  entity.counters = decision.counters;
  entity.reason = death.reason;
  entity.message = death.description;
  entity.updated_at = now;
  entity.dead_letter = death_id(entity);
  if (kind.has_effect) entity.effect = effect_due(now);
  return {std::move(entity), std::move(decision), std::move(failure)};
}

std::string refused_text(const EntityKind& kind, const Entity& entity) {
  std::string text = kind.title + " " + entity.id + " is " + std::string(name_of(entity.status)) +
                     ": " + (entity.reason.empty() ? "it may not be retried" : entity.reason);
  if (entity.dead_letter) text += "; it is dead letter " + to_string(*entity.dead_letter);
  return text +
         ". Nothing was counted. When the cause is dealt with, open it again (POST "
         "…/reopen).";
}

}  // namespace

EntityKind entity_kind(std::string_view name) {
  EntityKind kind;
  kind.name = name;
  kind.title = sentence(name);
  kind.source = kind.name + "_retry";
  kind.event_type = camel(name) + "RetryFailed";
  kind.profile = "booking-retry-api";
  kind.id_key = camel(name) + "Id";
  return kind;
}

EntityKind payment_kind() {
  EntityKind kind = entity_kind("payment");
  kind.fields = {"BookingId", "Amount", "PaymentMethod"};
  return kind;
}

bool is_kind_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= longest_kind && is_lower(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '-'; });
}

bool is_entity_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= longest_id && is_utf8(id) &&
         std::none_of(id.begin(), id.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

bool is_own_key(const EntityKind& kind, std::string_view key) noexcept {
  return key == kind.id_key || key == kind.retry_count_key || key == kind.last_retry_key ||
         key == kind.created_key || key == kind.error_key;
}

std::string_view name_of(EntityStatus status) noexcept {
  return status == EntityStatus::failed ? "FAILED" : "PERMANENTLY_FAILED";
}

std::optional<EntityStatus> parse_entity_status(std::string_view text) noexcept {
  for (const EntityStatus each : {EntityStatus::failed, EntityStatus::permanently_failed}) {
    if (name_of(each) == text) return each;
  }
  return std::nullopt;
}

RetryAnswer ask_for_retry(const RuleBook& rules, const EntityKind& kind, Entity entity,
                          TimePoint now) {
  if (entity.status == EntityStatus::permanently_failed) {
    return RetryRefused{refused_text(kind, entity)};
  }
  const Outcome outcome{OutcomeKind::failed, last_failure(entity)};
  Decision decision = rules.after_run(outcome, entity.counters, now, 0);
  if (const auto* rejected = std::get_if<RejectToCaller>(&decision.verdict)) {
    return RetryRefused{kind.title + " " + entity.id + " may not be retried: " + rejected->reason +
                        ". Nothing was counted."};
  }
  if (std::holds_alternative<RetryAt>(decision.verdict)) {
    Counters asked = decision.counters;
    if (asked.fetch != UINT32_MAX) ++asked.fetch;
    const std::string_view category = decision.category;
    const std::string_view rule = decision.rule;
    decision = rules.before_run(asked, entity.error);
    decision.category = category;
    decision.rule = rule;
  }
  if (const auto* death = std::get_if<DeadLetterAs>(&decision.verdict)) {
    const DeadLetterAs said = *death;
    return over(kind, std::move(entity), std::move(decision), said, now);
  }
  entity.counters = RuleBook::started(decision.counters);
  entity.last_retry_at = now;
  entity.updated_at = now;
  return RetryAllowed{std::move(entity)};
}

Result<Entity> reopened(const EntityKind& kind, Entity entity, TimePoint now) {
  if (entity.status != EntityStatus::permanently_failed) {
    return Error{Code::conflict, "core.entity",
                 kind.title + " " + entity.id + " is " + std::string(name_of(entity.status)) +
                     " and may be retried as it is. Nothing was changed."};
  }
  Counters counters = after_replay(entity.counters, ReplayCount::restart);
  counters.fetch = 1;
  counters.attempt = 1;  // that it failed is why it is here
  entity.status = EntityStatus::failed;
  entity.counters = counters;
  entity.reason.clear();
  entity.message.clear();
  entity.dead_letter.reset();
  entity.effect.reset();
  entity.updated_at = now;
  ++entity.round;
  return entity;
}

RecordId death_id(const Entity& entity) {
  FieldHash hash;
  hash.field("entity");
  hash.field(entity.kind);
  hash.field(entity.id);
  hash.number(static_cast<std::uint64_t>(entity.registered_at.time_since_epoch().count()));
  hash.number(entity.round);
  return RecordId{hash.id()};
}

std::optional<std::string> entity_value(const Entity& entity, std::string_view name) {
  const auto text = [](const std::string& value) {
    return value.empty() ? std::optional<std::string>() : value;
  };
  const auto time = [](const std::optional<TimePoint>& value) {
    return value ? std::optional<std::string>(to_iso8601(*value)) : std::nullopt;
  };
  if (name == "id") return entity.id;
  if (name == "kind") return entity.kind;
  if (name == "status") return std::string(name_of(entity.status));
  if (name == "message") return text(entity.message);
  if (name == "reason") return text(entity.reason);
  if (name == "error") return text(entity.error);
  if (name == "retry_count") return std::to_string(entity.counters.retry);
  if (name == "created_at") return time(entity.created_at);
  if (name == "last_retry_at") return time(entity.last_retry_at);
  if (name == "updated_at") return time(entity.updated_at);
  if (name == "data") return entity.data;
  if (name == "dead_letter" && entity.dead_letter) return to_uuid(*entity.dead_letter);
  return std::nullopt;
}

Result<Entity> with_effect_again(const EntityKind& kind, Entity entity, TimePoint now) {
  const bool applied = entity.effect && entity.effect->state == EffectState::applied;
  if (!entity.effect || applied) {
    return Error{Code::conflict, "core.entity",
                 kind.title + " " + entity.id +
                     (applied ? ": its owner has heard of its death; nothing was changed."
                              : " owes its owner nothing; nothing was changed.")};
  }
  entity.effect = effect_due(now);
  return entity;
}

std::string not_found_text(const EntityKind& kind, std::string_view id) {
  return kind.title + " " + std::string(id) + " not found";
}

std::string moving_line(const EntityKind& kind, const Entity& entity, const RuleBook& rules) {
  const auto& check = rules.profile().pre_check;
  const bool by_limit = check && entity.reason == check->reason;
  return (by_limit ? "Max retries (" + std::to_string(check->limit) + ") reached" : entity.reason) +
         " for " + kind.id_key + ": " + entity.id + ". Moving to DLQ.";
}

std::string stored_line(const EntityKind& kind, const Entity& entity) {
  return kind.title + " stored in DLQ. " + kind.id_key + ": " + entity.id +
         ", DLQId: " + (entity.dead_letter ? to_uuid(*entity.dead_letter) : std::string());
}

}  // namespace dlo
