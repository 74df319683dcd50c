#include "dlo/engine/replay_witness.h"

#include <optional>
#include <utility>
#include <vector>

#include "dlo/core/acts.h"

namespace dlo {

Sender sender_of(const RecordDetail& detail, const Message& message) {
  const DeadLetter& record = detail.record;
  std::vector<const std::optional<std::string>*> payloads;
  for (const Version& version : detail.versions) payloads.push_back(&version.payload);
  Sender sender;
  sender.occurrence = record.occurrence;
  sender.replays_sent = record.counters.replay;
  sender.sent_it = is_what_was_sent(message, *record.message, payloads);
  sender.same_source = message.source == record.message->source;
  sender.ran = record.counters.attempt > record.counters.failure;
  return sender;
}

namespace {

constexpr int most_tries = 5;

/// What resolves the record, if it is the one that sent this message and awaits the outcome.
std::optional<Change> cure_of(Office& office, const Message& message, TimePoint now) {
  const auto lineage = lineage_of(message.headers);
  if (!lineage) return std::nullopt;
  const auto detail = office.get(lineage->id);
  if (!detail) return std::nullopt;
  const DeadLetter& record = detail->record;
  const bool awaited = record.status == Status::replaying || record.status == Status::replayed;
  if (!awaited || record.occurrence != lineage->replay) return std::nullopt;
  if (!honoured_occurrence(*lineage, sender_of(*detail, message))) return std::nullopt;
  Transition cured;
  cured.id = record.id;
  cured.expected_version = record.version;
  cured.to = Status::resolved;
  cured.now = now;
  cured.resolution = Resolution{now, "", std::string(how_replayed), ""};
  return cured;
}

bool is_conflict(const Result<std::vector<Applied>>& written) {
  return !written && written.error().code == Code::conflict;
}

/// Somebody changed its record meanwhile: whoever sent it may be writing that at this very moment.
void witness_alone(Office& office, const Message& message, TimePoint now) {
  for (int i = 0; i < most_tries; ++i) {
    const auto cure = cure_of(office, message, now);
    if (!cure || !is_conflict(office.apply({&*cure, 1}))) return;
  }
}

}  // namespace

void witness_replays(Office& office, std::span<const MessagePtr> completed, TimePoint now) {
  std::vector<Change> cures;
  for (const MessagePtr& message : completed) {
    if (auto cure = cure_of(office, *message, now)) cures.push_back(std::move(*cure));
  }
  if (cures.empty() || !is_conflict(office.apply(cures))) return;
  for (const MessagePtr& message : completed) witness_alone(office, *message, now);
}

}  // namespace dlo
