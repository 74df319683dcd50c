#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dlo/core/dead_letter.h"
#include "dlo/core/id.h"
#include "dlo/core/message.h"
#include "dlo/core/sha256.h"
#include "dlo/core/states.h"

namespace dlo {

/// The record id of a message (R3): H(source, position) where positions are stable, else
/// H(source, message id, content hash), so that different bodies never merge. Of a message with
/// neither, any number of identical copies may be meant to be different messages: `delivery` keeps
/// them apart. Give it the lease token there; it is ignored for all others.
[[nodiscard]] RecordId identify(const Message& message, const Id128& delivery = {});

/// False: the message has neither position nor id and only its content to be known by. A repeat of
/// it is then found among the few records of its source still marked `source_unsettled`, by
/// `same_content`; if none is there it is another message.
[[nodiscard]] bool has_stable_identity(const Message& message) noexcept;

/// Event type, key, content type and payload are equal (null and empty are not). Headers are left
/// out: brokers change them between deliveries.
[[nodiscard]] bool same_content(const Message& a, const Message& b) noexcept;

/// Where a message that was sent back came from: its record, and the occurrence it was sent from.
/// Its death, if it dies again, is the occurrence after that one.
struct Lineage {
  RecordId id;
  std::uint32_t replay = 0;
  bool operator==(const Lineage&) const = default;
};
inline constexpr std::string_view lineage_id_header = "dlo-id";
inline constexpr std::string_view lineage_replay_header = "dlo-replay";
inline constexpr std::string_view attempts_header = "dlo-attempts";

/// Empty unless both headers are there and well-formed.
[[nodiscard]] std::optional<Lineage> lineage_of(const Headers& headers) noexcept;

/// Stamps a message that is about to be sent back; earlier stamps are replaced.
void stamp_lineage(Headers& headers, const Lineage& lineage);

/// Whether `arrived` can be what a record that shows `known` sent: the same id, event type, key and
/// content type, and a payload that it has or had (`payloads`, of its versions). Headers prove
/// nothing: whoever makes messages out of a message copies them, our stamps included.
[[nodiscard]] bool is_what_was_sent(
    const Message& arrived, const Message& known,
    std::span<const std::optional<std::string>* const> payloads) noexcept;

/// What is known of a record by whoever holds a lineage against it.
struct Sender {
  std::uint32_t occurrence = 1;
  std::uint32_t replays_sent = 0;
  bool sent_it = false;      // `is_what_was_sent`
  bool same_source = false;  // it last died where this one dies
  bool ran = false;  // a run of it went well, or was not seen to end: it may have sent it on
};

/// The occurrence number of a death that carries `lineage`; empty if the record never sent that
/// replay nor had an executor that could send it on, sent something else, or has the death of
/// another copy of it: an occurrence that exists is met again only where it died. The headers are
/// then somebody else's, and the message is identified by itself: two records of one message are a
/// nuisance, a message without any is lost.
[[nodiscard]] std::optional<std::uint32_t> honoured_occurrence(const Lineage& lineage,
                                                               const Sender& record) noexcept;

/// What an append meets in the store: the newest occurrence under its id.
struct Existing {
  std::uint32_t occurrence = 1;
  Status status = Status::pending;
  bool source_unsettled = false;
  TimePoint died_at{};
};
[[nodiscard]] Existing existing_of(const DeadLetter& record) noexcept;

/// What comes in.
struct Arrival {
  std::uint32_t occurrence = 1;  // 1: no lineage; else honoured_occurrence
  bool has_position = false;     // its id is that of a stable position
  bool redelivered = false;      // the source says it may have handed it out before
  TimePoint died_at{};
};
[[nodiscard]] Arrival arrival_of(const DeadLetter& record) noexcept;

enum class AppendEffect : std::uint8_t {
  insert,          // nothing there
  merge,           // the office has this death already: nothing changes
  new_occurrence,  // the same problem came back: reopen under `next_occurrence`
};

/// The rule behind idempotent append (R3, I4). Pure and total.
///
///   existing        arrival                                       effect
///   none            any                                           insert
///   any             lineage, newer than the existing occurrence   new_occurrence
///   any             lineage, not newer                            merge: a late repeat
///   live or open    no lineage                                    merge
///   closed (*)      no lineage, same died_at                      merge: the append was repeated
///   closed (*),     no lineage, and a position or redelivered     merge: recorded, crashed, closed
///     unsettled                                                     by a person, delivered again
///   closed (*)      no lineage                                    new_occurrence
///
/// (*) and replaying or replayed: what was sent back may return through a consumer that stripped
/// our headers, and must not vanish behind a record that is about to be presumed cured.
///
/// A closed record whose source is settled never swallows anything, not even at a stable position:
/// somebody wound the source back, the message ran and failed again, and that must be seen. So
/// whoever appends from a source sets `source_unsettled` and clears it once the source is settled.
[[nodiscard]] AppendEffect append_effect(const std::optional<Existing>& existing,
                                         const Arrival& arrival) noexcept;

/// The number a new occurrence gets.
[[nodiscard]] std::uint32_t next_occurrence(const Existing& existing,
                                            const Arrival& arrival) noexcept;

/// R2, for a delivery that may be a repeat: true if the office has it already, so that it is
/// settled at its source and not run.
[[nodiscard]] bool is_repeat(const std::optional<Existing>& existing,
                             const Arrival& arrival) noexcept;

}  // namespace dlo
