#include "dlo/engine/pull_desk.h"

#include <algorithm>
#include <utility>

#include "dlo/engine/random_bits.h"
#include "dlo/engine/replay_witness.h"
#include "dlo/store/death_audit.h"

namespace dlo {
namespace {

constexpr std::size_t marks_at_once = 256;
constexpr int most_rounds = 4;  // of receiving, if all that came must not run: others wait
constexpr std::size_t buried_at_once = 256;

/// The worker is elsewhere; the table only says that there is one.
class Elsewhere final : public Handler {
 public:
  Outcome run(const Message&, const RunContext&) override { return {}; }
};

PullAnswer::Fate fate_of(Plan::Kind kind) noexcept {
  switch (kind) {
    case Plan::Kind::complete:
      return PullAnswer::Fate::completed;
    case Plan::Kind::retry:
    case Plan::Kind::wait:
      return PullAnswer::Fate::retried;
    case Plan::Kind::dead:
    case Plan::Kind::repeat:
      return PullAnswer::Fate::dead;
    case Plan::Kind::drop:
      return PullAnswer::Fate::dropped;
    case Plan::Kind::release:
    case Plan::Kind::reject:
      return PullAnswer::Fate::released;
  }
  return PullAnswer::Fate::completed;
}

}  // namespace

std::string_view name_of(PullAnswer::Fate fate) noexcept {
  switch (fate) {
    case PullAnswer::Fate::completed:
      return "completed";
    case PullAnswer::Fate::retried:
      return "retried";
    case PullAnswer::Fate::dead:
      return "dead";
    case PullAnswer::Fate::released:
      return "released";
    case PullAnswer::Fate::lease_lost:
      return "lease_lost";
    case PullAnswer::Fate::dropped:
      return "dropped";
  }
  return "completed";
}

PullDesk::PullDesk(Parts parts)
    : parts_(std::move(parts)),
      appending_(parts_.office),
      writer_(parts_.writer == nullptr ? appending_ : *parts_.writer),
      suspects_(parts_.office, "pull") {
  HandlerOptions options;
  options.name = "worker";
  workers_.set_default(std::make_shared<Elsewhere>(), std::move(options));
  use(parts_.rules);
}

void PullDesk::use(std::shared_ptr<const RuleBook> rules) {
  Procedure procedure(rules, workers_, {}, writer_, suspects_, parts_.origin);
  auto made = std::make_shared<const Working>(Working{std::move(rules), std::move(procedure)});
  const std::lock_guard lock(mutex_);
  working_ = std::move(made);
}

PullDesk::WorkingPtr PullDesk::working() const {
  const std::lock_guard lock(mutex_);
  return working_;
}

Result<std::vector<PullDesk::Handed>> PullDesk::receive(std::size_t limit, Millis lease_for) {
  out_.forget_lapsed(parts_.clock.instant().steady);
  const WorkingPtr with = working();
  for (int round = 0; round < most_rounds; ++round) {
    const Instant now = parts_.clock.instant();
    ReceiveRequest request;
    request.limit = limit;
    request.lease_for = lease_for;
    auto deliveries = parts_.source.receive(request, now);
    if (!deliveries) return deliveries.error();
    if (deliveries->empty()) break;
    Sorted sorted = sort_out(*with, *deliveries, now);
    if (!sorted.ended.empty()) {
      if (auto done = finish_unrun(sorted.ended, now); !done) sorted.trouble = done.error();
    }
    auto handed = hand_out(std::move(sorted.ready), now);
    if (!handed || !handed->empty()) return handed;
    if (sorted.trouble) return *sorted.trouble;
  }
  return std::vector<Handed>();
}

bool PullDesk::bury_expired() {
  const WorkingPtr with = working();
  for (int round = 0; round < most_rounds; ++round) {
    const Instant now = parts_.clock.instant();
    ReceiveRequest request;
    request.limit = buried_at_once;
    request.expired_only = true;
    auto deliveries = parts_.source.receive(request, now);
    if (!deliveries || deliveries->empty()) return false;
    Sorted sorted = sort_out(*with, *deliveries, now);
    for (OutPtr& out : sorted.ready) {  // whoever receives it runs it
      Ended& unrun = sorted.ended.emplace_back();
      unrun.out = std::move(out);
      unrun.plan.kind = Plan::Kind::release;
      unrun.plan.ending = ReleasedUnrun{};
    }
    // What is not settled comes again when its lease is over.
    if (!finish_unrun(sorted.ended, now) || sorted.trouble) return false;
  }
  return true;
}

/// What can be run, and what was decided without running it.
PullDesk::Sorted PullDesk::sort_out(const Working& with, std::vector<Delivery>& deliveries,
                                    const Instant& now) {
  Sorted sorted;
  for (Delivery& delivery : deliveries) {
    auto out = std::make_unique<Out>();
    out->item.delivery = std::move(delivery);
    out->started = now.wall;
    out->until = out->item.delivery.steady_until;
    Prepared prepared = with.procedure.prepare(out->item, now.wall, random_bits());
    if (std::holds_alternative<RunIt>(prepared)) {
      sorted.ready.push_back(std::move(out));
      continue;
    }
    Plan plan;
    plan.kind = Plan::Kind::release;
    plan.ending = ReleasedUnrun{};
    if (auto* decided = std::get_if<Plan>(&prepared)) plan = std::move(*decided);
    if (const auto* again = std::get_if<LookAgain>(&prepared)) sorted.trouble = again->error;
    sorted.ended.push_back({std::move(out), std::move(plan), 0, {}});
  }
  return sorted;
}

/// Started at the source, so that a crash of the worker counts, then the worker's.
Result<std::vector<PullDesk::Handed>> PullDesk::hand_out(std::vector<OutPtr> ready,
                                                         const Instant& now) {
  std::vector<Handed> handed;
  if (ready.empty()) return handed;
  std::vector<LeaseToken> leases;
  for (const OutPtr& out : ready) leases.push_back(out->item.delivery.lease);
  const auto live = parts_.source.start(leases, now);
  if (!live) {
    give_back(leases, now);
    return live.error();
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (!(*live)[i]) continue;
    Item& item = ready[i]->item;
    item.running = RuleBook::started(item.delivery.counters);
    handed.push_back({item.delivery.lease, item.delivery.message, item.running,
                      item.delivery.leased_until, item.delivery.last_error});
    out_.keep(leases[i], std::move(ready[i]));
  }
  return handed;
}

/// On its way through the source.
struct PullDesk::Settling {
  Instant now;
  std::vector<Ended> ended;
  std::vector<PullAnswer> answers;
};

Result<std::vector<PullAnswer>> PullDesk::settle(std::vector<PullSettlement> settlements) {
  return settle_soon(std::move(settlements)).wait();
}

bool PullDesk::needs_office(std::span<const PullSettlement> settlements) {
  return std::any_of(settlements.begin(), settlements.end(), [this](const PullSettlement& each) {
    if (std::holds_alternative<PullReleased>(each.ending)) return false;
    if (!std::holds_alternative<PullCompleted>(each.ending)) return true;
    bool replayed = false;
    out_.change(each.lease, [&](const OutPtr& out) {
      replayed = lineage_of(out->item.delivery.message->headers).has_value();
    });
    return replayed;
  });
}

Pending<std::vector<PullAnswer>> PullDesk::settle_soon(std::vector<PullSettlement> settlements) {
  const auto with = working();
  const auto settling = std::make_shared<Settling>();
  settling->now = parts_.clock.instant();
  settling->answers.resize(settlements.size());
  settling->ended.reserve(settlements.size());
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    auto out = out_.take(settlements[i].lease, settling->now.steady);
    if (!out) {
      settling->answers[i].fate = PullAnswer::Fate::lease_lost;
      continue;
    }
    Plan plan =
        plan_for(*with, **out, settlements[i].ending, settling->now.wall, settling->answers[i]);
    settling->ended.push_back({std::move(*out), std::move(plan), i, {}});
  }
  if (auto written = write(settling->ended, &settling->answers, settling->now); !written) {
    return take_up_again(*settling, written.error());
  }
  if (settling->ended.empty()) return Result(std::move(settling->answers));
  auto at_source = settle_source(settling->ended, settling->now);
  return Pending<std::vector<PullAnswer>>(
      [this, settling, source = std::move(at_source)]() mutable {
        return conclude(*settling, std::move(source).wait());
      });
}

Result<std::vector<PullAnswer>> PullDesk::conclude(Settling& settling,
                                                   Result<std::vector<SettleAnswer>> settled) {
  if (!settled) return take_up_again(settling, settled.error());
  close_books(settling.ended, *settled, &settling.answers, settling.now.wall);
  return std::move(settling.answers);
}

/// Nothing was settled: all of it is still in the workers' hands.
Error PullDesk::take_up_again(Settling& settling, Error why) {
  for (Ended& each : settling.ended) {
    const LeaseToken lease = each.out->item.delivery.lease;
    out_.keep(lease, std::move(each.out));
  }
  return why;
}

/// Never ran. If the source does not answer either, their leases run out.
void PullDesk::give_back(const std::vector<LeaseToken>& unrun, const Instant& now) {
  std::vector<Settlement> settlements;
  settlements.reserve(unrun.size());
  for (const LeaseToken& lease : unrun) settlements.push_back({lease, ReleasedUnrun{}});
  (void)parts_.source.settle(settlements, now);
}

void PullDesk::give_all_back() {
  const Instant now = parts_.clock.instant();
  std::vector<LeaseToken> out;
  for (const OutPtr& each : out_.take_all(now.steady)) out.push_back(each->item.delivery.lease);
  if (!out.empty()) give_back(out, now);
}

/// Record durable, then source settled, then the mark taken off: here is the first. Without
/// `answers` nobody has them in his hands.
Result<void> PullDesk::write(std::vector<Ended>& ended, std::vector<PullAnswer>* answers,
                             const Instant& now) {
  if (auto held = drop_lost(ended, answers, now); !held) return held.error();
  auto recorded = record(ended, now.wall);
  // What may have been written is looked up when its lease has run out (R2).
  if (!recorded && answers == nullptr && recorded.error().code != Code::timed_out) {
    std::vector<LeaseToken> unrun;
    for (const Ended& each : ended) unrun.push_back(each.out->item.delivery.lease);
    give_back(unrun, now);
  }
  return recorded;
}

/// What was decided without running it.
Result<void> PullDesk::finish_unrun(std::vector<Ended>& ended, const Instant& now) {
  if (auto written = write(ended, nullptr, now); !written) return written;
  if (ended.empty()) return {};
  const auto settled = settle_source(ended, now).wait();
  if (!settled) return settled.error();
  close_books(ended, *settled, nullptr, now.wall);
  return {};
}

void PullDesk::close_books(const std::vector<Ended>& ended,
                           const std::vector<SettleAnswer>& settled,
                           std::vector<PullAnswer>* answers, TimePoint now) {
  std::vector<MessagePtr> completed;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    const Plan& plan = ended[i].plan;
    const bool lost = settled[i].settled == Settled::lease_lost;
    if (!lost && plan.kind == Plan::Kind::complete) {
      completed.push_back(ended[i].out->item.delivery.message);
    }
    if (!lost && plan.kind == Plan::Kind::dead && !writer_.is_office()) {
      marks_.settled({plan.record->id, ended[i].occurrence});
    }
    if (answers == nullptr) continue;
    PullAnswer& answer = (*answers)[ended[i].place];
    answer.fate = lost ? PullAnswer::Fate::lease_lost : fate_of(plan.kind);
    if (lost) continue;
    if (plan.record) answer.record = plan.record->id;
    if (plan.again) answer.next_at = plan.again->when;
    if (const auto* death = std::get_if<DeadLetterAs>(&plan.decision.verdict)) {
      answer.reason = death->reason;
    }
  }
  witness_replays(parts_.office, completed, now);
}

/// Whoever lost his lease is told so and leaves no trace in the office.
Result<void> PullDesk::drop_lost(std::vector<Ended>& ended, std::vector<PullAnswer>* answers,
                                 const Instant& now) {
  std::vector<HeldLease> leases;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    if (!ended[i].plan.needs_office()) continue;
    places.push_back(i);
    leases.push_back({ended[i].out->item.delivery.lease, ended[i].out->until});
  }
  const auto ours = hold_on(parts_.source, leases, now);
  if (!ours) return ours.error();
  for (std::size_t i = places.size(); i-- > 0;) {
    if ((*ours)[i]) continue;
    if (answers != nullptr) {
      (*answers)[ended[places[i]].place] = {.fate = PullAnswer::Fate::lease_lost};
    }
    ended.erase(ended.begin() + static_cast<std::ptrdiff_t>(places[i]));
  }
  return {};
}

Result<void> PullDesk::record(std::vector<Ended>& ended, TimePoint now) {
  std::vector<Change> changes;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of appends, and whose they are
  for (std::size_t i = 0; i < ended.size(); ++i) {
    Plan& plan = ended[i].plan;
    for (const Change& change : plan.changes) changes.push_back(change);
    if (plan.kind != Plan::Kind::dead && plan.kind != Plan::Kind::wait) continue;
    const Delivery& delivery = ended[i].out->item.delivery;
    if (!plan.named) {
      if (auto named = writer_.name(delivery, *plan.record); !named) return named.error();
      plan.named = true;
    }
    places.emplace_back(changes.size(), i);
    writer_.write(delivery, plan.record, plan.attempts, now, changes);
  }
  if (changes.empty()) return {};
  add_death_audit(changes, "engine", now);
  const auto applied = apply_with_marks(std::move(changes));
  if (!applied) return applied.error();
  for (const auto& [place, owner] : places) ended[owner].occurrence = (*applied)[place].occurrence;
  return {};
}

/// Marks go along with what is written anyway.
Result<std::vector<Applied>> PullDesk::apply_with_marks(std::vector<Change> changes) {
  const std::lock_guard lock(marks_mutex_);
  marks_.put(marks_at_once, changes);
  auto applied = parts_.office.apply(changes);
  if (applied) {
    marks_.done();
  } else {
    marks_.not_written();
  }
  return applied;
}

void PullDesk::tidy() {
  out_.forget_lapsed(parts_.clock.instant().steady);
  for (std::size_t owed = marks_.size(); owed > 0;) {
    if (!apply_with_marks({})) return;  // whoever writes next takes them along
    owed -= std::min(owed, marks_at_once);
  }
}

Pending<std::vector<SettleAnswer>> PullDesk::settle_source(const std::vector<Ended>& ended,
                                                           const Instant& now) {
  std::vector<Settlement> settlements;
  settlements.reserve(ended.size());
  for (const Ended& each : ended) {
    settlements.push_back({each.out->item.delivery.lease, each.plan.ending});
  }
  if (parts_.eager != nullptr) return parts_.eager->settle_soon(settlements, now);
  return parts_.source.settle(settlements, now);
}

Result<std::vector<bool>> PullDesk::renew(std::span<const LeaseToken> leases, Millis lease_for) {
  const Instant now = parts_.clock.instant();
  auto live = parts_.source.renew(leases, now, lease_for);
  if (!live) return live;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const bool known = out_.change(leases[i], [&](const OutPtr& out) {
      if ((*live)[i]) out->until = std::max(out->until, now.steady + lease_for);
    });
    if (!known) (*live)[i] = false;
  }
  return live;
}

std::size_t PullDesk::held() const {
  return out_.size();
}

}  // namespace dlo
