#include "dlo/jobs/replay.h"

#include <algorithm>
#include <memory>

#include "dlo/core/acts.h"
#include "dlo/core/decide.h"
#include "dlo/core/identity.h"
#include "dlo/core/profile.h"
#include "dlo/core/redirect.h"
#include "dlo/core/spelling.h"

namespace dlo {

bool is_stripped(const Header& header, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return fits(ascii_lower(name), ascii_lower(header.name));
  });
}

bool is_outside(const ReplayTargets& targets, const std::string& target) {
  return targets.outside.covers && targets.outside.covers(target);
}

Result<ReplayTarget> executor_of(const ReplayTargets& targets, const std::string& target) {
  return targets.executor ? targets.executor(target) : find_executor(nullptr, target, Millis{0});
}

ReplayRules rules_for(const ReplayTargets& targets, const DeadLetter& record) {
  const auto profile = targets.profile ? targets.profile(record) : find_profile(record.profile);
  if (!profile) return {};
  return {profile->replay_limit, profile->replay_count};
}

namespace {

/// The same each time one replay is sent, and never that of another one: a message may die again
/// under its old id with counters that begin anew, also after its record was removed.
std::string replay_id_of(const DeadLetter& record) {
  return "dlo-replay-" + to_string(record.id) + "-" + std::to_string(record.number) + "-" +
         std::to_string(record.occurrence) + "-" + std::to_string(record.counters.replay);
}

}  // namespace

Publication replay_of(const RecordDetail& detail, const std::string& target, const ReplaySpec& spec,
                      ReplayCount count, TimePoint now) {
  const DeadLetter& record = detail.record;
  auto message = std::make_shared<Message>(*record.message);
  if (!detail.versions.empty()) {
    message->headers = detail.versions.back().headers;
    message->payload = detail.versions.back().payload;
  }
  std::erase_if(message->headers,
                [&](const Header& header) { return is_stripped(header, spec.strip); });
  for (const Header& header : spec.set_headers) {
    std::erase_if(message->headers,
                  [&](const Header& each) { return is_stripped(each, {header.name}); });
    message->headers.push_back(header);
  }
  stamp_lineage(message->headers, {record.id, record.occurrence});
  message->source = target;
  message->position.reset();
  message->enqueued_at = now;
  message->expires_at.reset();  // somebody wants it now: it is not to die of its old age
  Publication publication;
  Counters before = record.counters;
  if (before.replay > 0) --before.replay;  // after_replay counts it
  publication.counters = after_replay(before, count);
  publication.dedupe_id = replay_id_of(record);
  publication.replay = true;
  // Its own death holds its key: behind those who wait for it, it would wait for ever.
  publication.past_hold = target == record.message->source;
  publication.message = std::move(message);
  return publication;
}

}  // namespace dlo
