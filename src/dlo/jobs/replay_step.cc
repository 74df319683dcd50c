#include "dlo/jobs/replay_step.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/drafts.h"
#include "dlo/jobs/job_freeze.h"
#include "dlo/jobs/key_order.h"
#include "dlo/jobs/replay_work.h"
#include "dlo/jobs/returns.h"

namespace dlo {
namespace {

constexpr std::size_t most_kept = std::size_t{4} << 20U;  // bytes of a slice

std::size_t size_of(const RecordDetail& detail) {
  std::size_t bytes = sizeof(detail);
  const auto add = [&bytes](const Headers& headers, const std::optional<std::string>& payload) {
    for (const Header& header : headers) bytes += header.name.size() + header.value.size();
    bytes += payload ? payload->size() : 0;
  };
  add(detail.record.message->headers, detail.record.message->payload);
  for (const Version& version : detail.versions) add(version.headers, version.payload);
  return bytes;
}

void leave(const RecordId& id, std::string_view outcome, std::uint64_t& count,
           std::vector<std::pair<RecordId, std::string>>& outcomes) {
  ++count;
  outcomes.emplace_back(id, outcome);
}

}  // namespace

Result<Stepped> ReplayWork::run(std::size_t most, Millis go_on_for) {
  if (progress_.freezing) return freeze_on(office_, job_, progress_);
  if (is_executor(spec_.target)) most = 1;
  if (!progress_.sending.empty()) return send_taken();
  const RampStep wave = next_wave(spec_.ramp(), progress_.counts.tally());
  if (wave.kind == RampStep::Kind::stop) return stop();
  if (has_missing(progress_)) return account_for(office_, job_, progress_);
  if (progress_.held.size() > most_held) {
    return Stepped{progress_, true,
                   "More than " + std::to_string(most_held) +
                       " keys are held up by one that is still open. Nothing more was sent."};
  }
  const std::uint64_t awaited = progress_.counts.awaited();
  const bool full = spec_.concurrency > 0 && awaited >= spec_.concurrency;
  const bool wave_is_out = job_.spec.by_key && awaited > 0;
  if (wave.kind == RampStep::Kind::wait || progress_.listed || full || wave_is_out) {
    return watch();
  }
  // What came back meanwhile stops the rest, also when the waves are over and all of it is sent.
  if (spec_.canary > 0 && awaited > 0) {
    const auto seen =
        few_at_a_time() ? settle(progress_.awaiting, false, false) : look_at_changes();
    if (!seen) return seen.error();
    const RampStep now = next_wave(spec_.ramp(), progress_.counts.tally());
    if (now.kind == RampStep::Kind::stop) return stop();
  }
  most = std::min<std::uint64_t>(most, wave.most);
  if (spec_.concurrency > 0) most = std::min<std::uint64_t>(most, spec_.concurrency - awaited);
  most = room_for(most);
  if (most == 0) {
    Tried tried{progress_};
    tried.next.listed = true;
    return write(std::move(tried));
  }
  return go_on_for > Millis{0} && streams() ? stream(go_on_for) : take(most);
}

std::size_t ReplayWork::room_for(std::size_t most) const noexcept {
  if (!job_.spec.limit) return most;
  const std::uint64_t done = progress_.counts.total() + progress_.sending.size();
  return std::min<std::uint64_t>(most, *job_.spec.limit - std::min(*job_.spec.limit, done));
}

Result<Stepped> ReplayWork::stop() {
  const auto opened = reopen_groups(office_, job_, progress_, now_);
  if (!opened && is_overtaken(opened.error())) return Stepped{progress_};  // the next look does
  if (!opened) return opened.error();
  const JobCounts& counts = progress_.counts;
  return Stepped{progress_, true,
                 std::to_string(counts.returned) + " of " + std::to_string(counts.ok) +
                     " came back (" + returned_text(progress_) + "), more than the " +
                     std::to_string(100 - std::min(spec_.success_percent, 100U)) +
                     " % that may. Nothing more was sent."};
}

std::string ReplayWork::mark_of(const DeadLetter& record) const {
  return job_.spec.by_key ? key_mark(target_of(record), record.message->key) : std::string();
}

Result<Stepped> ReplayWork::write(Tried tried) {
  if (!tried.sent.empty()) {
    const std::unordered_set<RecordId> sent(tried.sent.begin(), tried.sent.end());
    Moves moves;
    for (const Taken& each : progress_.sending) {
      if (sent.contains(each.id)) ++moves[{each.was, Status::replayed}];
    }
    tried.changes.emplace_back(audit_of(job_, tried.sent, moves, now_));
  }
  tried.changes.emplace_back(
      JobCheckpoint{job_.id, to_json(tried.next), std::move(tried.outcomes)});
  const auto applied = office_.apply(tried.changes);
  if (!applied) return applied.error();
  progress_ = std::move(tried.next);
  return Stepped{progress_};
}

std::string ReplayWork::target_of(const DeadLetter& record) const {
  return spec_.direction(record.message->source, record.message->event_type).target;
}

Transition ReplayWork::move(const DeadLetter& record, Status to) const {
  Transition transition;
  transition.id = record.id;
  transition.expected_version = record.version;
  transition.to = to;
  transition.now = now_;
  return transition;
}

Result<Stepped> ReplayWork::take(std::size_t most) {
  Tried tried{progress_};
  auto slice = take_next(most, tried);
  if (!slice) return slice.error();
  auto taken = write(std::move(tried));
  // Somebody was quicker with one of them: it has left the set, so the next look is without it.
  if (!taken && is_overtaken(taken.error())) return Stepped{progress_};
  if (!taken || progress_.sending.empty()) return taken;
  if (is_executor(spec_.target)) return run_taken(progress_.sending.front());
  if (auto sent = send(*slice); !sent) return sent.error();
  return write_fates(*slice);
}

Result<void> ReplayWork::read_recipe() {
  if (recipe_) return {};
  recipe_.emplace();
  if (job_.spec.recipe.empty()) return {};
  auto read = parse_recipe(job_.spec.recipe);
  if (!read) return read.error();
  recipe_ = std::move(*read);
  return {};
}

Result<ReplayWork::Fates> ReplayWork::take_next(std::size_t most, Tried& tried) {
  if (auto read = read_recipe(); !read) return read.error();
  if (!spec_.target.empty()) {  // if that is not there, there is nothing to be done at all
    if (auto there = targets_.check(spec_.target); !there) return there.error();
  }
  const auto page = next_slice(most, tried.next);
  if (!page) return page.error();
  if (page->next) tried.next.after = *page->next;
  tried.next.listed = !page->next;
  Fates slice;
  for (const RecordHead& head : page->rows) {
    auto detail = office_.get(head.id);
    if (!detail && is_overtaken(detail.error())) continue;  // removed meanwhile
    if (!detail) return detail.error();
    auto taken = take_one(std::move(*detail), head, tried, slice);
    if (!taken) return taken.error();
  }
  return slice;
}

Result<JobSlice> ReplayWork::next_slice(std::size_t most, const JobProgress& from) const {
  auto slice = read_on(office_, job_, from, most);
  while (slice && job_.spec.by_key) {
    const std::size_t wave = wave_of(slice->rows, spec_);
    if (wave == slice->rows.size()) break;
    // Asked again: only the office knows the place behind a row.
    slice = read_on(office_, job_, from, wave);
  }
  return slice;
}

Result<void> ReplayWork::take_one(RecordDetail detail, const RecordHead& head, Tried& tried,
                                  Fates& slice) {
  const DeadLetter& record = detail.record;
  auto& [next, changes, outcomes, sent] = tried;
  JobCounts& counts = next.counts;
  const std::string mark = mark_of(record);
  const std::size_t taken = next.sending.size();
  const bool stays_open = is_open(record.status);
  if (is_held(next, mark)) {
    leave(record.id, item_behind, counts.behind, outcomes);
  } else if (record.version != head.version) {
    leave(record.id, item_changed, counts.changed, outcomes);
  } else if (!is_replayable(record.status, spec_.quarantined_too, spec_.again)) {
    leave(record.id, item_refused, counts.refused, outcomes);
  } else if (record.counters.replay >= limit_of(record)) {
    leave(record.id, item_looped, counts.looped, outcomes);
    if (record.status != Status::quarantined) {
      changes.emplace_back(move(record, Status::quarantined));
    }
  } else {
    const auto no_way = no_way_to(target_of(record));
    if (!no_way) return no_way.error();
    if (*no_way) {
      leave(record.id, item_refused, counts.refused, outcomes);
      count_unreachable(next, target_of(record), **no_way);
    } else if (auto done = take_and_repair(std::move(detail), tried, slice); !done) {
      return done;
    }
  }
  // It stays where it is, so the rest of its key does.
  if (next.sending.size() == taken && stays_open) hold(next, mark);
  return {};
}

std::uint32_t ReplayWork::limit_of(const DeadLetter& record) const {
  return replay_limit(spec_.most_replays, rules_for(targets_, record).limit);
}

Result<void> ReplayWork::take_and_repair(RecordDetail detail, Tried& tried, Fates& slice) const {
  const DeadLetter& record = detail.record;
  Transition transition = move(record, Status::replaying);
  transition.lease_for = replay_lease;
  transition.counters = record.counters;
  ++transition.counters->replay;
  bool repaired = false;
  if (!recipe_->empty()) {
    const auto repair = check_recipe(office_, detail, *recipe_);
    if (!repair && will_pass(repair.error())) return repair.error();
    if (!repair || !check_schema(*repair)) {
      leave(record.id, item_refused, tried.next.counts.refused, tried.outcomes);
      return {};
    }
    repaired = repair->changes();
    if (repaired) {
      tried.changes.emplace_back(version_of(record, *repair, now_, job_.created_by, why_of(job_)));
      ++*transition.expected_version;  // the version is a change of the record
    }
  }
  const Taken taken{record.id, record.occurrence, record.fingerprint.hash, record.status};
  tried.next.sending.push_back(taken);
  slice.all.emplace_back().taken = taken;
  if (!repaired) keep(std::move(detail), transition, slice);
  tried.changes.emplace_back(std::move(transition));
  return {};
}

void ReplayWork::keep(RecordDetail detail, const Transition& taken, Fates& slice) {
  slice.kept += size_of(detail);
  if (slice.kept > most_kept) return;
  DeadLetter& record = detail.record;
  record.status = taken.to;
  record.counters = *taken.counters;
  record.version = *taken.expected_version + 1;
  record.failure = {};  // long, and not sent
  slice.all.back().detail = std::move(detail);
}

Result<Stepped> replay_step(Office& office, const ReplayTargets& targets, const Job& job,
                            const JobProgress& progress, std::size_t most, TimePoint now,
                            const std::stop_token& stop, Millis go_on_for) {
  return ReplayWork(office, targets, job, progress, now, stop).run(most, go_on_for);
}

Result<Stepped> replay_wind_up(Office& office, const ReplayTargets& targets, const Job& job,
                               const JobProgress& progress, TimePoint now) {
  return ReplayWork(office, targets, job, progress, now, {}).wind_up();
}

}  // namespace dlo
