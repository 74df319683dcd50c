#include "dlo/jobs/replay_step.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/drafts.h"
#include "dlo/jobs/key_order.h"
#include "dlo/jobs/returns.h"

namespace dlo {
namespace {

constexpr Millis lease_for{600'000};  // to send one batch
constexpr Millis look_every{1'000};   // while a wave is watched
constexpr std::size_t watch_page = 500;
constexpr std::uint64_t few = 10'000;
constexpr std::string_view sent_mark = "sent ";  // and the occurrence that was sent, and its group

std::string text_of(const Taken& sent) {
  return std::string(sent_mark) + std::to_string(sent.occurrence) + " " + to_string(sent.group);
}

/// What an item says was sent; nothing if it is settled.
std::optional<Taken> parse_sent(const Document& item) {
  const std::string& outcome = item.body;
  const auto id = parse_id(item.key);
  if (!id || !outcome.starts_with(sent_mark)) return std::nullopt;
  Taken sent;
  sent.id = RecordId{*id};
  const char* const end = outcome.data() + outcome.size();
  const auto number = std::from_chars(outcome.data() + sent_mark.size(), end, sent.occurrence);
  if (number.ec != std::errc()) return std::nullopt;
  if (number.ptr != end) sent.group = parse_id({number.ptr + 1, end}).value_or(Id128{});
  return sent;
}

class Replay {
 public:
  Replay(Office& office, const ReplayTargets& targets, const Job& job, JobProgress progress,
         TimePoint now)
      : office_(office),
        targets_(targets),
        job_(job),
        spec_(*job.spec.replay),
        progress_(std::move(progress)),
        now_(now) {}

  Result<Stepped> run(std::size_t most) {
    if (!progress_.sending.empty()) return send_taken();
    const RampStep wave = next_wave(spec_.ramp(), progress_.counts.tally());
    if (wave.kind == RampStep::Kind::stop) return stop();
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
    most = std::min<std::uint64_t>(most, wave.most);
    if (spec_.concurrency > 0) most = std::min<std::uint64_t>(most, spec_.concurrency - awaited);
    if (job_.spec.limit) {
      const auto done = std::min(*job_.spec.limit, progress_.counts.total());
      most = std::min<std::uint64_t>(most, *job_.spec.limit - done);
    }
    if (most == 0) {
      JobProgress next = progress_;
      next.listed = true;
      return write({}, {}, std::move(next));
    }
    return take(most);
  }

 private:
  using Outcomes = std::vector<std::pair<RecordId, std::string>>;

  /// The fix is none: whoever was to fix it hears of it.
  Result<Stepped> stop() {
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

  [[nodiscard]] std::string mark_of(const DeadLetter& record) const {
    return job_.spec.by_key ? key_mark(target_of(record), record.message->key) : std::string();
  }

  Result<Stepped> write(std::vector<Change> changes, Outcomes outcomes, JobProgress next,
                        const std::vector<RecordId>& acted = {}) {
    if (!acted.empty()) changes.emplace_back(audit_of(job_, acted, now_));
    changes.emplace_back(JobCheckpoint{job_.id, to_json(next), std::move(outcomes)});
    const auto applied = office_.apply(changes);
    if (!applied) return applied.error();
    progress_ = std::move(next);
    return Stepped{progress_};
  }

  [[nodiscard]] std::string target_of(const DeadLetter& record) const {
    return spec_.target.empty() ? record.message->source : spec_.target;
  }

  Transition move(const DeadLetter& record, Status to) const {
    Transition transition;
    transition.id = record.id;
    transition.expected_version = record.version;
    transition.to = to;
    transition.now = now_;
    return transition;
  }

  /// The next ones become `replaying`, with the cursor behind them and their ids in the progress.
  Result<Stepped> take(std::size_t most) {
    Recipe recipe;
    if (!job_.spec.recipe.empty()) {
      auto read = parse_recipe(job_.spec.recipe);
      if (!read) return read.error();
      recipe = std::move(*read);
    }
    auto query = query_of(job_);
    if (!query) return query.error();
    const auto page = next_page(*query, most);
    if (!page) return page.error();
    JobProgress next = progress_;
    if (page->next) next.after = page->next;
    next.listed = !page->next;
    std::vector<Change> changes;
    Outcomes outcomes;
    for (const RecordHead& head : page->rows) {
      const auto detail = office_.get(head.id);
      if (!detail && is_overtaken(detail.error())) continue;  // removed meanwhile
      if (!detail) return detail.error();
      if (auto taken = take_one(*detail, head, recipe, changes, outcomes, next); !taken) {
        return taken.error();
      }
    }
    auto taken = write(std::move(changes), std::move(outcomes), std::move(next));
    // Somebody was quicker with one of them: it has left the set, so the next look is without it.
    if (!taken && is_overtaken(taken.error())) return Stepped{progress_};
    if (!taken || progress_.sending.empty()) return taken;
    return send_taken();
  }

  /// What is to be taken next: in order of keys, each key once.
  Result<Page> next_page(Query query, std::size_t most) const {
    query.after = progress_.after;
    query.limit = most;
    auto page = office_.list(query);
    while (page && job_.spec.by_key) {
      const std::size_t wave = wave_of(page->rows, spec_.target);
      if (wave == page->rows.size()) break;
      query.limit = wave;  // asked again: only the office knows the cursor behind a row
      page = office_.list(query);
    }
    return page;
  }

  static void leave(const RecordId& id, std::string_view outcome, std::uint64_t& count,
                    Outcomes& outcomes) {
    ++count;
    outcomes.emplace_back(id, outcome);
  }

  Result<void> take_one(const RecordDetail& detail, const RecordHead& head, const Recipe& recipe,
                        std::vector<Change>& changes, Outcomes& outcomes, JobProgress& next) const {
    const DeadLetter& record = detail.record;
    JobCounts& counts = next.counts;
    const std::string mark = mark_of(record);
    const std::size_t taken = next.sending.size();
    if (is_held(next, mark)) {
      leave(record.id, item_behind, counts.behind, outcomes);
    } else if (record.version != head.version) {
      leave(record.id, item_changed, counts.changed, outcomes);
    } else if (!is_replayable(record.status, spec_.quarantined_too)) {
      leave(record.id, item_refused, counts.refused, outcomes);
    } else if (record.counters.replay >= limit_of(record)) {
      leave(record.id, item_looped, counts.looped, outcomes);
      if (record.status != Status::quarantined) {
        changes.emplace_back(move(record, Status::quarantined));
      }
    } else if (auto done = take_and_repair(detail, recipe, changes, outcomes, next); !done) {
      return done;
    }
    // It stays where it is, so the rest of its key does.
    if (next.sending.size() == taken && is_open(record.status)) hold(next, mark);
    return {};
  }

  [[nodiscard]] std::uint32_t limit_of(const DeadLetter& record) const {
    return replay_limit(spec_.most_replays, rules_for(targets_, record).limit);
  }

  /// A recipe makes a version first, in the same write: what is sent is what stands there.
  Result<void> take_and_repair(const RecordDetail& detail, const Recipe& recipe,
                               std::vector<Change>& changes, Outcomes& outcomes,
                               JobProgress& next) const {
    const DeadLetter& record = detail.record;
    Transition transition = move(record, Status::replaying);
    transition.lease_for = lease_for;
    transition.counters = record.counters;
    ++transition.counters->replay;
    if (!recipe.empty()) {
      const auto repair = check_recipe(office_, detail, recipe);
      if (!repair && will_pass(repair.error())) return repair.error();
      if (!repair || !check_schema(*repair)) {
        leave(record.id, item_refused, next.counts.refused, outcomes);
        return {};
      }
      if (repair->changes()) {
        changes.emplace_back(version_of(record, *repair, now_, job_.created_by, why_of(job_)));
        ++*transition.expected_version;  // the version is a change of the record
      }
    }
    changes.emplace_back(std::move(transition));
    next.sending.push_back({record.id, record.occurrence, record.fingerprint.hash});
    return {};
  }

  /// Sends what was taken, by this process or one that died, and writes that down.
  Result<Stepped> send_taken() {
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

  /// Taken, and not `replaying` any more: it came back or was cured before we could write that it
  /// was sent, or a person stepped in.
  void settle_early(const Result<RecordDetail>& detail, const Taken& taken, JobProgress& next,
                    Outcomes& outcomes) const {
    const bool back = detail && detail->record.occurrence > taken.occurrence;
    const bool cured = detail && !back && detail->record.status == Status::resolved;
    ++(back || cured ? next.counts.ok : next.counts.changed);
    if (back) came_back(detail->record, taken.group, next);
    if (cured) ++next.counts.verified;
    outcomes.emplace_back(taken.id, back ? item_returned : cured ? item_verified : item_changed);
  }

  void came_back(const DeadLetter& record, const Id128& sent_from, JobProgress& next) const {
    ++next.counts.returned;
    count_return(next, sent_from, record);
    hold(next, mark_of(record));
  }

  /// Nothing can be sent there: the records go back to where they can be dealt with.
  Result<Stepped> give_back(const std::vector<DeadLetter>& going, const Error& why) {
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

  Result<Stepped> write_sent(const std::vector<DeadLetter>& going, JobProgress next,
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

  [[nodiscard]] Resolution presumed() const { return {now_, "", "republished", job_.spec.notes}; }

  /// What became of those that were sent.
  Result<Stepped> watch() {
    const JobCounts& counts = progress_.counts;
    if (counts.awaited() == 0) return Stepped{progress_, progress_.listed};
    const TimePoint due = progress_.last_sent.value_or(now_) + spec_.watch;
    // A wave is waited for, and a few are quickly looked at; many only once, when time is up.
    const bool worth_a_look =
        few_at_a_time() || (spec_.canary > 0 && !progress_.listed) || counts.ok <= few;
    if (!worth_a_look && now_ < due) return Stepped{progress_, false, {}, due};
    const auto looked =
        few_at_a_time() ? settle(progress_.awaiting, now_ >= due) : look_at_all(now_ >= due);
    if (!looked) return looked.error();
    if (progress_.counts.awaited() == 0) return Stepped{progress_, progress_.listed};
    return Stepped{progress_, false, {}, std::min(now_ + look_every, std::max(due, now_))};
  }

  /// Whether those that are awaited are so few that the progress names them.
  [[nodiscard]] bool few_at_a_time() const noexcept {
    return spec_.concurrency > 0 || job_.spec.by_key;
  }

  Result<void> look_at_all(bool time_is_up) {
    std::string after;
    while (true) {
      const auto items =
          office_.extras().ledger->documents(job_item_kind(job_.id), after, watch_page);
      if (!items) return items.error();
      if (items->empty()) return {};
      std::vector<Taken> sent;
      for (const Document& item : *items) {
        if (const auto each = parse_sent(item)) sent.push_back(*each);
      }
      if (auto settled = settle(sent, time_is_up); !settled) return settled;
      after = items->back().key;
    }
  }

  Result<void> settle(const std::vector<Taken>& all, bool time_is_up) {
    JobProgress next = progress_;
    std::vector<Change> changes;
    Outcomes outcomes;
    for (const Taken& sent : all) {
      const auto detail = office_.get(sent.id);
      if (!detail && !is_overtaken(detail.error())) return detail.error();
      const auto outcome = detail ? outcome_of(detail->record, sent.occurrence, time_is_up, changes)
                                  : std::optional(item_presumed);  // removed by somebody
      if (!outcome) continue;
      if (*outcome == item_returned) came_back(detail->record, sent.group, next);
      if (*outcome == item_verified) ++next.counts.verified;
      if (*outcome == item_presumed) ++next.counts.presumed;
      outcomes.emplace_back(sent.id, std::string(*outcome));
      std::erase(next.awaiting, sent);
    }
    if (outcomes.empty()) return {};
    const auto written = write(std::move(changes), std::move(outcomes), std::move(next));
    // Somebody changed one meanwhile: the next look sees what it is now.
    if (!written && !is_overtaken(written.error())) return written.error();
    return {};
  }

  std::optional<std::string_view> outcome_of(const DeadLetter& record, std::uint32_t occurrence,
                                             bool time_is_up, std::vector<Change>& changes) const {
    if (record.occurrence > occurrence) return item_returned;
    if (record.status == Status::resolved) return item_verified;
    if (record.status != Status::replayed) return item_presumed;  // a person took it elsewhere
    if (!time_is_up) return std::nullopt;
    Transition transition = move(record, Status::resolved);
    transition.resolution = presumed();
    changes.emplace_back(std::move(transition));
    return item_presumed;
  }

  Office& office_;
  const ReplayTargets& targets_;
  const Job& job_;
  const ReplaySpec& spec_;
  JobProgress progress_;
  TimePoint now_;
};

}  // namespace

Result<Stepped> replay_step(Office& office, const ReplayTargets& targets, const Job& job,
                            const JobProgress& progress, std::size_t most, TimePoint now) {
  return Replay(office, targets, job, progress, now).run(most);
}

}  // namespace dlo
