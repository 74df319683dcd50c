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

std::size_t size_of(const Message& message) {
  return message.payload ? message.payload->size() : 0;
}

}  // namespace

Result<Stepped> ReplayWork::send_taken() {
  if (is_executor(spec_.target)) return run_taken(progress_.sending.front());
  Fates fates;
  for (const Taken& taken : progress_.sending) fates.all.emplace_back().taken = taken;
  if (auto sent = send(fates); !sent) return sent.error();
  return write_fates(fates);
}

Result<void> ReplayWork::send(Fates& fates) const {
  std::map<std::string, Batch> batches;
  std::size_t bytes = 0;
  const auto send_all = [&] {
    for (const auto& [target, batch] : std::exchange(batches, {})) {
      send_batch(target, batch, fates);
    }
    bytes = 0;
  };
  for (std::size_t i = 0; i < fates.all.size(); ++i) {
    Fate& fate = fates.all[i];
    std::optional<RecordDetail> read;
    if (!fate.detail) {
      auto detail = office_.get(fate.taken.id);
      if (!detail && !is_overtaken(detail.error())) return detail.error();
      if (!detail || detail->record.status != Status::replaying) continue;
      read = std::move(*detail);
    }
    const RecordDetail& detail = read ? *read : *fate.detail;
    fate.target = target_of(detail.record);
    Batch& batch = batches[fate.target];
    batch.publications.push_back(
        replay_of(detail, fate.target, spec_, rules_for(targets_, detail.record).count, now_));
    batch.places.push_back(i);
    bytes += size_of(*batch.publications.back().message);
    if (bytes >= bytes_at_once) send_all();
  }
  send_all();
  return {};
}

void ReplayWork::send_batch(const std::string& target, const Batch& batch, Fates& fates) const {
  const auto there = targets_.check(target);
  if (!there) return note_refusal(there.error(), batch.places, fates);
  send_part(target, batch.publications, batch.places, fates);
}

/// A queue may be too small for so many at once, and take them in parts.
void ReplayWork::send_part(const std::string& target, std::span<const Publication> publications,
                           std::span<const std::size_t> places, Fates& fates) const {
  if (is_outside(targets_, target)) return send_outside(target, publications, places, fates);
  const auto sent = targets_.send(target, publications, now_);
  if (sent) return;
  if (sent.error().code != Code::invalid_argument || places.size() == 1) {
    return note_refusal(sent.error(), places, fates);
  }
  const std::size_t half = places.size() / 2;
  send_part(target, publications.first(half), places.first(half), fates);
  send_part(target, publications.subspan(half), places.subspan(half), fates);
}

/// Another broker may take some and refuse others.
void ReplayWork::send_outside(const std::string& target, std::span<const Publication> publications,
                              std::span<const std::size_t> places, Fates& fates) const {
  const auto sent = targets_.outside.send(target, publications, now_);
  if (!sent) return note_refusal(sent.error(), places, fates);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if ((*sent)[i]) note_refusal(*(*sent)[i], places.subspan(i, 1), fates);
  }
}

void ReplayWork::note_refusal(const Error& error, std::span<const std::size_t> places,
                              Fates& fates) {
  if (will_pass(error)) fates.later = error;  // again later, under the same ids
  for (const std::size_t place : places) fates.all[place].refused = error;
}

/// Whoever is quick has completed some of them before it is written that they were sent. What was
/// sent is never sent again for that: it is looked at once more and written as it is then.
Result<Stepped> ReplayWork::write_fates(Fates& fates) {
  for (int i = 0; i < most_writes; ++i) {
    if (others_are_quick_) {
      for (Fate& fate : fates.all) fate.detail.reset();
    }
    auto tried = try_fates(fates);
    if (!tried) return tried.error();
    const bool nothing = tried->outcomes.empty();
    if (fates.later && nothing && progress_.blocked == fates.later->detail) return *fates.later;
    auto written = write(std::move(*tried));
    if (!written && is_overtaken(written.error())) {
      others_are_quick_ = true;
      continue;
    }
    if (written && fates.later) return *fates.later;
    return written;
  }
  return Stepped{progress_};
}

Result<ReplayWork::Tried> ReplayWork::try_fates(const Fates& fates) const {
  Tried tried{progress_};
  auto& sending = tried.next.sending;
  sending.erase(sending.begin(), sending.begin() + static_cast<std::ptrdiff_t>(fates.all.size()));
  tried.next.blocked = fates.later ? fates.later->detail : std::string();
  std::vector<Taken> again;
  for (const Fate& fate : fates.all) {
    if (fate.refused && will_pass(*fate.refused)) {
      again.push_back(fate.taken);
      continue;
    }
    if (fate.detail) {
      try_fate(fate, &fate.detail->record, tried);
      continue;
    }
    const auto detail = office_.get(fate.taken.id);
    if (!detail && !is_overtaken(detail.error())) return detail.error();
    try_fate(fate, detail ? &detail->record : nullptr, tried);
  }
  sending.insert(sending.begin(), again.begin(), again.end());
  return tried;
}

void ReplayWork::try_fate(const Fate& fate, const DeadLetter* record, Tried& tried) const {
  if (record == nullptr || record->status != Status::replaying) {
    settle_early(record, fate.taken, tried);
  } else if (!fate.refused) {
    note_sent(*record, tried);
  } else {
    give_back(*record, fate.taken.was, tried);
    count_unreachable(tried.next, fate.target, fate.refused->detail);
  }
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
      settle_early(detail ? &detail->record : nullptr, taken, tried);
    }
  }
  auto written = write(std::move(tried));
  if (!written && is_overtaken(written.error())) return Stepped{progress_};  // the next look does
  return written;
}

void ReplayWork::settle_early(const DeadLetter* record, const Taken& taken, Tried& tried) const {
  const bool back = record != nullptr && record->occurrence > taken.occurrence;
  const bool cured =
      record != nullptr && !back && record->resolution &&
      outcome_of_sent(false, record->status, record->resolution->how) == SentOutcome::verified;
  JobCounts& counts = tried.next.counts;
  ++(back || cured ? counts.ok : counts.changed);
  if (back) came_back(*record, taken.group, tried.next);
  if (cured) ++counts.verified;
  tried.outcomes.emplace_back(taken.id, back    ? item_returned
                                        : cured ? item_verified
                                                : item_changed);
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
