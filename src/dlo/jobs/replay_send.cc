// What was taken is sent, and that is written down.
#include <map>
#include <utility>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/replay_work.h"

namespace dlo {

Result<Stepped> ReplayWork::send_taken() {
  std::map<std::string, std::vector<Publication>> by_target;
  std::vector<DeadLetter> going;
  JobProgress next = progress_;
  next.sending.clear();
  Outcomes outcomes;
  for (const Taken& taken : progress_.sending) {
    auto detail = office_.get(taken.id);
    if (!detail && !is_overtaken(detail.error())) return detail.error();
    if (!detail || detail->record.status != Status::replaying) {
      settle_early(detail, taken, next, outcomes);
      continue;
    }
    const std::string target = target_of(detail->record);
    by_target[target].push_back(
        replay_of(*detail, target, spec_, rules_for(targets_, detail->record).count, now_));
    going.push_back(std::move(detail->record));
  }
  for (const auto& [target, publications] : by_target) {
    auto sent = targets_.check(target);
    if (sent) sent = targets_.send(target, publications, now_);
    if (!sent && will_pass(sent.error())) return sent.error();  // again later, under the same ids
    if (!sent) return give_back(going, sent.error());
  }
  return write_sent(going, std::move(next), std::move(outcomes));
}

void ReplayWork::settle_early(const Result<RecordDetail>& detail, const Taken& taken,
                              JobProgress& next, Outcomes& outcomes) const {
  const bool back = detail && detail->record.occurrence > taken.occurrence;
  const bool cured = detail && !back && detail->record.status == Status::resolved;
  ++(back || cured ? next.counts.ok : next.counts.changed);
  if (back) came_back(detail->record, taken.group, next);
  if (cured) ++next.counts.verified;
  outcomes.emplace_back(taken.id, back ? item_returned : cured ? item_verified : item_changed);
}

Result<Stepped> ReplayWork::give_back(const std::vector<DeadLetter>& going, const Error& why) {
  std::vector<Change> changes;
  Outcomes outcomes;
  JobProgress next = progress_;
  next.sending.clear();
  for (const DeadLetter& record : going) {
    Transition transition = move(record, Status::pending);
    transition.counters = record.counters;
    if (transition.counters->replay > 0) --transition.counters->replay;  // it was not sent
    changes.emplace_back(std::move(transition));
    outcomes.emplace_back(record.id, item_refused);
    ++next.counts.refused;
  }
  const auto written = write(std::move(changes), std::move(outcomes), std::move(next));
  if (!written && !is_overtaken(written.error())) return written.error();
  return why;
}

Result<Stepped> ReplayWork::write_sent(const std::vector<DeadLetter>& going, JobProgress next,
                                       Outcomes outcomes) {
  std::vector<Change> changes;
  std::vector<RecordId> acted;
  for (const DeadLetter& record : going) {
    acted.push_back(record.id);
    const bool at_once = spec_.watch <= Millis{0};
    Transition transition = move(record, at_once ? Status::resolved : Status::replayed);
    if (at_once) transition.resolution = presumed();
    changes.emplace_back(std::move(transition));
    ++next.counts.ok;
    if (at_once) ++next.counts.presumed;
    const Taken sent{record.id, record.occurrence, record.fingerprint.hash};
    outcomes.emplace_back(record.id, at_once ? std::string(item_presumed) : text_of(sent));
    if (!at_once && few_at_a_time()) next.awaiting.push_back(sent);
  }
  if (!going.empty()) next.last_sent = now_;
  auto written = write(std::move(changes), std::move(outcomes), std::move(next), acted);
  // One of them is back already. The ids are still in the progress: the next look sends the
  // others again (and the target drops them) and finds out which it was.
  if (!written && is_overtaken(written.error())) return Stepped{progress_};
  return written;
}

}  // namespace dlo
