// What was taken is sent, and that is written down.
#include <algorithm>
#include <map>
#include <utility>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/key_order.h"
#include "dlo/jobs/replay_work.h"

namespace dlo {
namespace {

constexpr std::size_t most_unreachable = 20;

constexpr int most_writes = 20;
constexpr std::size_t bytes_at_once = std::size_t{8} << 20U;

/// What goes to one target.
struct Batch {
  std::vector<Publication> publications;
  std::vector<Taken> taken;
};
using Batches = std::map<std::string, Batch>;

std::size_t size_of(const Message& message) {
  return message.payload ? message.payload->size() : 0;
}

}  // namespace

Result<Stepped> ReplayWork::send_taken() {
  if (is_executor(spec_.target)) return run_taken(progress_.sending.front());
  Batches batches;
  std::size_t bytes = 0;
  Fates fates;
  const auto send_all = [&] {
    for (const auto& [target, batch] : std::exchange(batches, {})) {
      const auto there = targets_.check(target);
      if (there) {
        send_part(target, batch.publications, batch.taken, fates);
      } else {
        note_refusal(there.error(), batch.taken, fates);
      }
    }
    bytes = 0;
  };
  for (const Taken& taken : progress_.sending) {
    auto detail = office_.get(taken.id);
    if (!detail && !is_overtaken(detail.error())) return detail.error();
    Fate& fate = fates.all.emplace_back();
    fate.taken = taken;
    if (!detail || detail->record.status != Status::replaying) continue;
    fate.target = target_of(detail->record);
    Batch& batch = batches[fate.target];
    batch.publications.push_back(
        replay_of(*detail, fate.target, spec_, rules_for(targets_, detail->record).count, now_));
    batch.taken.push_back(taken);
    bytes += size_of(*batch.publications.back().message);
    if (bytes >= bytes_at_once) send_all();
  }
  send_all();
  return write_fates(fates);
}

/// A queue may be too small for so many at once, and take them in parts.
void ReplayWork::send_part(const std::string& target, std::span<const Publication> publications,
                           std::span<const Taken> taken, Fates& fates) {
  if (is_outside(targets_, target)) return send_outside(target, publications, taken, fates);
  const auto sent = targets_.send(target, publications, now_);
  if (sent) return;
  if (sent.error().code != Code::invalid_argument || taken.size() == 1) {
    return note_refusal(sent.error(), taken, fates);
  }
  const std::size_t half = taken.size() / 2;
  send_part(target, publications.first(half), taken.first(half), fates);
  send_part(target, publications.subspan(half), taken.subspan(half), fates);
}

/// Another broker may take some and refuse others.
void ReplayWork::send_outside(const std::string& target, std::span<const Publication> publications,
                              std::span<const Taken> taken, Fates& fates) {
  const auto sent = targets_.outside.send(target, publications, now_);
  if (!sent) return note_refusal(sent.error(), taken, fates);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if ((*sent)[i]) note_refusal(*(*sent)[i], taken.subspan(i, 1), fates);
  }
}

void ReplayWork::note_refusal(const Error& error, std::span<const Taken> taken, Fates& fates) {
  if (will_pass(error)) fates.later = error;  // again later, under the same ids
  for (const Taken& each : taken) {
    const auto fate = std::find_if(fates.all.begin(), fates.all.end(),
                                   [&](const Fate& one) { return one.taken.id == each.id; });
    fate->refused = error;
  }
}

/// Whoever is quick has completed some of them before it is written that they were sent. What was
/// sent is never sent again for that: it is looked at once more and written as it is then.
Result<Stepped> ReplayWork::write_fates(const Fates& fates) {
  for (int i = 0; i < most_writes; ++i) {
    auto tried = try_fates(fates);
    if (!tried) return tried.error();
    const bool nothing = tried->outcomes.empty();
    if (fates.later && nothing && progress_.blocked == fates.later->detail) return *fates.later;
    auto written = write(std::move(tried->changes), std::move(tried->outcomes),
                         std::move(tried->next), tried->sent);
    if (!written && is_overtaken(written.error())) continue;
    if (written && fates.later) return *fates.later;
    return written;
  }
  return Stepped{progress_};
}

Result<ReplayWork::Tried> ReplayWork::try_fates(const Fates& fates) const {
  Tried tried{progress_};
  tried.next.sending.clear();
  tried.next.blocked = fates.later ? fates.later->detail : std::string();
  for (const Fate& fate : fates.all) {
    if (fate.refused && will_pass(*fate.refused)) {
      tried.next.sending.push_back(fate.taken);
      continue;
    }
    const auto detail = office_.get(fate.taken.id);
    if (!detail && !is_overtaken(detail.error())) return detail.error();
    if (!detail || detail->record.status != Status::replaying) {
      settle_early(detail, fate.taken, tried.next, tried.outcomes);
    } else if (!fate.refused) {
      note_sent(detail->record, tried);
    } else {
      give_back(detail->record, fate.taken.was, tried);
      count_unreachable(tried.next, fate.target, fate.refused->detail);
    }
  }
  return tried;
}

Result<Stepped> ReplayWork::wind_up() {
  if (progress_.sending.empty()) {
    auto watched = watch();
    if (watched) watched->over = watched->progress.counts.awaited() == 0;
    return watched;
  }
  if (is_executor(spec_.target)) return return_taken();  // nothing runs after a cancel
  // What was in flight is finished if its target takes it: it may be there already.
  auto sent = send_taken();
  if (sent || !will_pass(sent.error())) return sent;
  const Code met = sent.error().code;
  const bool surely_not_sent = met == Code::full || met == Code::disk_full;
  if (!surely_not_sent && now_ < job_.ended_at.value_or(now_) + replay_lease) return sent;
  return return_taken();
}

Result<Stepped> ReplayWork::return_taken() {
  Tried tried{progress_};
  tried.next.sending.clear();
  tried.next.blocked.clear();
  for (const Taken& taken : progress_.sending) {
    const auto detail = office_.get(taken.id);
    if (!detail && !is_overtaken(detail.error())) return detail.error();
    if (detail && detail->record.status == Status::replaying) {
      give_back(detail->record, taken.was, tried);
    } else {
      settle_early(detail, taken, tried.next, tried.outcomes);
    }
  }
  auto written = write(std::move(tried.changes), std::move(tried.outcomes), std::move(tried.next));
  if (!written && is_overtaken(written.error())) return Stepped{progress_};  // the next look does
  return written;
}

void ReplayWork::settle_early(const Result<RecordDetail>& detail, const Taken& taken,
                              JobProgress& next, Outcomes& outcomes) const {
  const bool back = detail && detail->record.occurrence > taken.occurrence;
  const bool cured = detail && !back && detail->record.resolution &&
                     outcome_of_sent(false, detail->record.status,
                                     detail->record.resolution->how) == SentOutcome::verified;
  ++(back || cured ? next.counts.ok : next.counts.changed);
  if (back) came_back(detail->record, taken.group, next);
  if (cured) ++next.counts.verified;
  outcomes.emplace_back(taken.id, back ? item_returned : cured ? item_verified : item_changed);
}

void ReplayWork::note_sent(const DeadLetter& record, Tried& tried) const {
  JobProgress& next = tried.next;
  const bool at_once = spec_.watch <= Millis{0};
  Transition transition = move(record, at_once ? Status::resolved : Status::replayed);
  if (at_once) transition.resolution = presumed();
  tried.changes.emplace_back(std::move(transition));
  tried.sent.push_back(record.id);
  ++next.counts.ok;
  if (at_once) ++next.counts.presumed;
  const Taken sent{record.id, record.occurrence, record.fingerprint.hash};
  tried.outcomes.emplace_back(record.id, at_once ? std::string(item_presumed) : text_of(sent));
  if (!at_once && few_at_a_time()) next.awaiting.push_back(sent);
  next.last_sent = now_;
  next.presumed = false;  // what is sent now is looked at anew
  next.presumed_up_to.reset();
}

void ReplayWork::give_back(const DeadLetter& record, Status was, Tried& tried) const {
  Transition transition = move(record, was);
  transition.counters = record.counters;
  if (transition.counters->replay > 0) --transition.counters->replay;  // it was not sent
  tried.changes.emplace_back(std::move(transition));
  tried.outcomes.emplace_back(record.id, item_refused);
  ++tried.next.counts.refused;
  hold(tried.next, mark_of(record));
}

Result<std::optional<std::string>> ReplayWork::no_way_to(const std::string& target) {
  const auto known = ways_.find(target);
  if (known != ways_.end()) return known->second;
  const auto there = targets_.check(target);
  if (!there && will_pass(there.error())) return there.error();
  std::optional<std::string> why;
  if (!there) why = there.error().detail;
  return ways_.emplace(target, std::move(why)).first->second;
}

void count_unreachable(JobProgress& progress, const std::string& target,
                       const std::string& reason) {
  auto& all = progress.unreachable;
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const Unreachable& each) { return each.target == target; });
  if (found == all.end()) {
    if (all.size() == most_unreachable) return;  // how many were refused is counted elsewhere
    found = all.insert(all.end(), {target, reason, 0});
  }
  ++found->count;
}

}  // namespace dlo
