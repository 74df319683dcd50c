#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dlo/core/counters.h"
#include "dlo/core/decide.h"
#include "dlo/core/entity_effect.h"
#include "dlo/core/failure.h"
#include "dlo/core/id.h"
#include "dlo/core/time.h"

namespace dlo {

/// What is retried when somebody asks for it, as a payment is (document 001, entry point 3): who
/// owns it asks before each retry, and the office counts.
struct EntityKind {
  std::string name;        // "payment": as it stands in addresses
  std::string title;       // "Payment": as it stands in sentences
  std::string source;      // of its dead letters (S1-11)
  std::string event_type;  // of its dead letters (S1-11)
  std::string profile;
  std::optional<std::uint32_t> limit{};  // instead of the profile's
  // Names in the payload of its dead letters, in this order (S1-30).
  std::string id_key;
  std::vector<std::string> fields{};  // what its owner says of it; empty: whatever that is
  std::string retry_count_key = "RetryCount";
  std::string last_retry_key = "LastRetryAt";
  std::string created_key = "OriginalCreatedAt";
  std::string error_key = "FailureReason";
  bool has_effect = false;  // its owner hears of deaths (entity_effect.h)
  bool operator==(const EntityKind&) const = default;
};

/// A kind of that name with everything else as it follows from it: `payment_retry`,
/// `PaymentRetryFailed`, `PaymentId`, under `booking-retry-api`.
[[nodiscard]] EntityKind entity_kind(std::string_view name);
/// Built in: `payment` with BookingId, Amount and PaymentMethod (S1-30).
[[nodiscard]] EntityKind payment_kind();
/// Lower case, digits, `_` and `-`, a letter first, at most 64.
[[nodiscard]] bool is_kind_name(std::string_view name) noexcept;
/// 1 to 200 bytes of UTF-8 without control characters.
[[nodiscard]] bool is_entity_id(std::string_view id) noexcept;
/// Whether the office itself writes this key into payloads of that kind.
[[nodiscard]] bool is_own_key(const EntityKind& kind, std::string_view key) noexcept;

enum class EntityStatus : std::uint8_t { failed, permanently_failed };
/// FAILED, PERMANENTLY_FAILED: the words of document 001.
[[nodiscard]] std::string_view name_of(EntityStatus status) noexcept;
[[nodiscard]] std::optional<EntityStatus> parse_entity_status(std::string_view text) noexcept;

/// One of them. It comes here when its first attempt has failed: `counters` says so.
struct Entity {
  std::string kind;
  std::string id;
  EntityStatus status = EntityStatus::failed;
  Counters counters{.fetch = 1, .attempt = 1, .total = 1};  // its first attempt is over
  std::string error;        // what it last failed of, as its owner says; redacted
  std::string error_type;   // "CardDeclined"; may be empty
  std::string message{};    // what is said of its state (S1-29); empty while it may be retried
  std::string reason{};     // of its death
  std::string data = "{}";  // a JSON object, kept as given
  TimePoint created_at{};
  TimePoint registered_at{};  // here
  TimePoint updated_at{};
  std::optional<TimePoint> last_retry_at{};
  std::optional<RecordId> dead_letter{};
  std::uint32_t round = 1;               // one more each time it is opened again
  std::string trail{};                   // its attempts so far (engine/trail.h)
  std::optional<EntityEffect> effect{};  // what its owner has to hear of its death
  bool operator==(const Entity&) const = default;
};

/// Go ahead; it is counted.
struct RetryAllowed {
  Entity entity;
};
/// No more retries: a dead letter is due.
struct RetriesOver {
  Entity entity;      // as it is from then on
  Decision decision;  // DeadLetterAs; with views into the rules
  Failure failure;    // of the dead letter: its text is the reason, its cause the last true error
};
/// Nothing is counted.
struct RetryRefused {
  std::string why;
};
using RetryAnswer = std::variant<RetryAllowed, RetriesOver, RetryRefused>;

/// Somebody is about to retry it, so its last attempt failed, of `entity.error`. Pure. The profile
/// decides: what it says of that failure, then its check before a run. Under `booking-retry-api`
/// three calls are allowed, the fourth ends it (S1-10, S1-26), and later ones are refused.
[[nodiscard]] RetryAnswer ask_for_retry(const RuleBook& rules, const EntityKind& kind,
                                        Entity entity, TimePoint now);

/// Its cause is dealt with: all retries of the profile are open to it again. Refused (conflict)
/// unless it has failed for good.
[[nodiscard]] Result<Entity> reopened(const EntityKind& kind, Entity entity, TimePoint now);

/// The id of its dead letter, one for each round: also the key by which its owner knows the death,
/// however often it is told of it. One that is removed and comes again is another.
[[nodiscard]] RecordId death_id(const Entity& entity);

/// What an owner's own statement may be given of an entity, by name (SQL parameters).
inline constexpr std::array<std::string_view, 12> entity_values = {
    "id",          "kind",       "status",        "message",    "reason", "error",
    "retry_count", "created_at", "last_retry_at", "updated_at", "data",   "dead_letter"};
/// Empty: NULL. Times are ISO-8601, the dead letter is a UUID.
[[nodiscard]] std::optional<std::string> entity_value(const Entity& entity, std::string_view name);

/// It is owed again, from now on, whatever became of it. Refused (conflict) if there is none, or it
/// was applied.
[[nodiscard]] Result<Entity> with_effect_again(const EntityKind& kind, Entity entity,
                                               TimePoint now);

/// "Payment 7 not found" (S1-25)
[[nodiscard]] std::string not_found_text(const EntityKind& kind, std::string_view id);
/// What the log is told of a death, the first as an error (S1-27, S1-32).
[[nodiscard]] std::string moving_line(const EntityKind& kind, const Entity& entity,
                                      const RuleBook& rules);
[[nodiscard]] std::string stored_line(const EntityKind& kind, const Entity& entity);

}  // namespace dlo
