#include "dlo/engine/replay_witness.h"

#include "dlo/core/acts.h"
#include "dlo/core/identity.h"

namespace dlo {

void witness_replays(Office& office, std::span<const MessagePtr> completed, TimePoint now) {
  for (const MessagePtr& message : completed) {
    const auto lineage = lineage_of(message->headers);
    if (!lineage) continue;
    const auto detail = office.get(lineage->id);
    if (!detail) continue;
    const DeadLetter& record = detail->record;
    const bool awaited = record.status == Status::replaying || record.status == Status::replayed;
    if (!awaited || record.occurrence != lineage->replay || record.counters.replay == 0) continue;
    Transition cured;
    cured.id = record.id;
    cured.expected_version = record.version;
    cured.to = Status::resolved;
    cured.now = now;
    cured.resolution = Resolution{now, "", std::string(how_replayed), ""};
    const Change change = std::move(cured);
    (void)office.apply({&change, 1});
  }
}

}  // namespace dlo
