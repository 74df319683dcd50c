#include "dlo/engine/replay_witness.h"

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

/// False: somebody changed the record meanwhile, so it has to be looked at again.
bool witness(Office& office, const Lineage& lineage, const Message& message, TimePoint now) {
  const auto detail = office.get(lineage.id);
  if (!detail) return true;
  const DeadLetter& record = detail->record;
  const bool awaited = record.status == Status::replaying || record.status == Status::replayed;
  if (!awaited || record.occurrence != lineage.replay) return true;
  if (!honoured_occurrence(lineage, sender_of(*detail, message))) return true;
  Transition cured;
  cured.id = record.id;
  cured.expected_version = record.version;
  cured.to = Status::resolved;
  cured.now = now;
  cured.resolution = Resolution{now, "", std::string(how_replayed), ""};
  const Change change = std::move(cured);
  const auto written = office.apply({&change, 1});
  return written || written.error().code != Code::conflict;
}

}  // namespace

void witness_replays(Office& office, std::span<const MessagePtr> completed, TimePoint now) {
  for (const MessagePtr& message : completed) {
    const auto lineage = lineage_of(message->headers);
    if (!lineage) continue;
    // Whoever sent it may be writing that at this very moment.
    for (int i = 0; i < most_tries && !witness(office, *lineage, *message, now); ++i) {
    }
  }
}

}  // namespace dlo
