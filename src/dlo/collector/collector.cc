#include "dlo/collector/collector.h"

#include <algorithm>
#include <utility>

#include "dlo/collector/batch.h"
#include "dlo/collector/record_of.h"
#include "dlo/core/identity.h"
#include "dlo/engine/random_bits.h"
#include "dlo/store/death_audit.h"

namespace dlo {
namespace {

constexpr Millis refused_rest{60'000};

/// The office itself is in trouble, not the record it was given.
bool is_of_office(const Error& error) noexcept {
  return error.code == Code::unavailable || error.code == Code::timed_out ||
         error.code == Code::full || error.code == Code::disk_full || error.code == Code::corrupt;
}

}  // namespace

std::string_view name_of(CollectorState state) noexcept {
  switch (state) {
    case CollectorState::starting:
      return "starting";
    case CollectorState::collecting:
      return "collecting";
    case CollectorState::broker_down:
      return "broker_down";
    case CollectorState::office_down:
      return "office_down";
    case CollectorState::stopped:
      return "stopped";
  }
  return "stopped";
}

Collector::Collector(CollectorOptions options, Parts parts)
    : options_(std::move(options)),
      broker_(parts.broker),
      office_(parts.office),
      clock_(parts.clock),
      told_(std::move(parts.told)),
      writer_(parts.office),
      suspects_(parts.office, "collector"),
      procedure_(parts.rules, nobody_, {}, writer_, suspects_, std::move(parts.origin)),
      rules_(std::move(parts.rules)) {}

Collector::~Collector() {
  stop();
}

void Collector::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Collector::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  broker_.close();  // politely: what was acknowledged is read by the other side first
  take_marks_off();
  const std::lock_guard lock(mutex_);
  status_.state = CollectorState::stopped;
}

void Collector::use(std::shared_ptr<const RuleBook> rules) {
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
}

CollectorStatus Collector::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Collector::became(CollectorState state, std::string trouble) {
  CollectorStatus now;
  {
    const std::lock_guard lock(mutex_);
    const bool same = status_.state == state && status_.trouble.empty() == trouble.empty();
    status_.state = state;
    status_.trouble = std::move(trouble);
    if (same) return;
    now = status_;
  }
  if (told_) told_(now);
}

void Collector::rest(Millis time, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, stop, time, [] { return false; });
}

Result<void> Collector::draw_up(Kept& kept, TimePoint now, std::vector<Change>& changes) {
  kept.place.reset();
  const collector::Opened opened = collector::open_letter(kept.found, options_, now);
  const bool by_content = !has_stable_identity(*opened.delivery.message);
  if (by_content) kept.by_content = opened.delivery.message;
  if (!kept.known && opened.delivery.may_be_repeat) {
    auto known = writer_.find_repeat(opened.delivery);
    if (!known) return known.error();
    kept.known = known->has_value();
    if (kept.known) kept.record = SourceSettled{(*known)->id, (*known)->occurrence};
  }
  if (kept.known) {  // a record that only its content tells stands for this one and no other
    if (by_content) changes.emplace_back(*kept.record);
    return {};
  }
  Item item;
  item.delivery = opened.delivery;
  item.running = opened.delivery.counters;
  {
    const std::lock_guard lock(mutex_);
    item.rules = rules_;
  }
  Plan plan =
      procedure_.after_report(item, opened.letter.failure, now, random_bits(), /*final=*/true);
  for (Change& change : plan.changes) changes.push_back(std::move(change));
  if (plan.record == nullptr) {
    if (plan.kind == Plan::Kind::drop) return {};
    return Error{Code::conflict, "collector.decide",
                 "the profile has no way to keep what was given up elsewhere"};
  }
  if (!plan.named) {
    if (auto named = writer_.name(item.delivery, *plan.record); !named) return named.error();
  }
  collector::complete(plan, opened, options_);
  kept.place = changes.size();
  kept.record = SourceSettled{plan.record->id, plan.record->occurrence};
  writer_.write(item.delivery, plan.record, std::move(plan.attempts), now, changes);
  return {};
}

Result<void> Collector::draw_up(std::span<Kept> batch, TimePoint now,
                                std::vector<Change>& changes) {
  for (Kept& each : batch) {
    if (auto drawn = draw_up(each, now, changes); !drawn) return drawn;
  }
  return {};
}

/// All of them with one list, or none.
Result<void> Collector::write(std::span<Kept> batch) {
  const TimePoint now = clock_.now();
  std::vector<Change> changes;
  if (auto drawn = draw_up(batch, now, changes); !drawn) return drawn;
  return write(batch, std::move(changes), now);
}

Result<void> Collector::write(std::span<Kept> batch, std::vector<Change> changes, TimePoint now) {
  add_death_audit(changes, "collector " + options_.name, now);
  const std::size_t owed = owed_;
  marks_.put(owed, changes);
  if (!changes.empty()) {
    const auto applied = office_.apply(changes);
    if (!applied) {
      marks_.not_written();
      return applied.error();
    }
    for (Kept& each : batch) {
      if (!each.place) continue;
      const Applied& done = (*applied)[*each.place];
      each.record->occurrence = done.occurrence;
      each.merged = done.effect == Effect::merged;
    }
  }
  marks_.done();
  owed_ -= owed;
  for (Kept& each : batch) each.durable = true;
  return {};
}

Result<void> Collector::write_all(Batch& batch) {
  const bool begun = std::any_of(batch.all.begin(), batch.all.end(),
                                 [](const Kept& each) { return each.durable; });
  if (begun) return write_singly(batch.all);
  auto drawn = std::exchange(batch.drawn, std::nullopt);
  auto written = drawn ? write(batch.all, std::move(drawn->changes), drawn->at) : write(batch.all);
  if (written || is_of_office(written.error())) return written;
  return write_singly(batch.all);
}

/// One that the office will not have does not keep the others out.
Result<void> Collector::write_singly(std::span<Kept> batch) {
  for (Kept& each : batch) {
    if (each.durable) continue;
    const auto written = write({&each, 1});
    if (written) {
      each.refused.reset();
    } else if (is_of_office(written.error())) {
      return written;
    } else {
      each.refused = written.error();
    }
  }
  return {};
}

void Collector::settle(std::span<Kept> batch) {
  const Instant now = clock_.instant();
  std::vector<Settlement> settlements;
  std::uint64_t collected = 0;
  std::uint64_t repeats = 0;
  std::optional<Error> refused;
  std::uint64_t refusals = 0;
  for (const Kept& each : batch) {
    if (each.durable) {
      settlements.push_back({each.found.lease, DeadLettered{}});
      ++(each.known || each.merged ? repeats : collected);
    } else if (each.refused) {
      Abandoned later;
      later.again_at = now.wall + refused_rest;
      settlements.push_back({each.found.lease, later});
      refused = each.refused;
      ++refusals;
    } else {
      settlements.push_back({each.found.lease, ReleasedUnrun{}});
    }
  }
  const auto settled = broker_.settle(settlements, now);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool lost = settled && (*settled)[i].settled == Settled::lease_lost;
    let_go(batch[i], settled && !lost, lost);
  }
  {
    const std::lock_guard lock(mutex_);
    status_.collected += collected;
    status_.repeats += repeats;
    status_.refused += refusals;
    if (collected > 0) status_.last_at = now.wall;
  }
  if (refused) {
    refusal_ = "the office does not take " + std::to_string(refusals) +
               " of what was read, they stay in their queue: " + refused->detail;
    refusal_until_ = now.wall + refused_rest * 2;
  }
  if (!batch.empty() && (batch.back().durable || batch.back().refused)) works();
}

/// What became of one that was in hand, and of its record.
void Collector::let_go(const Kept& kept, bool acknowledged, bool lost) {
  if (!kept.record) return;
  if (kept.by_content == nullptr) {
    if (!kept.durable || !acknowledged) return;
    marks_.settled(*kept.record);
    ++owed_;
    return;
  }
  ContentClaims& claims = *writer_.claims();
  if (kept.durable) claims.used(kept.record->id);
  // It comes again. A record that is not durable is none, unless another life has left it.
  if (kept.durable ? lost : kept.known) claims.lost(*kept.by_content, kept.record->id);
}

/// But for what it has put aside.
void Collector::works() {
  if (clock_.now() > refusal_until_) refusal_.clear();
  became(CollectorState::collecting, refusal_);
}

/// While nothing comes: marks that no other list takes along.
void Collector::take_marks_off() {
  if (owed_ == 0) return;
  (void)write({});
}

}  // namespace dlo
