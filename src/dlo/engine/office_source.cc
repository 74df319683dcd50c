#include "dlo/engine/office_source.h"

#include <algorithm>
#include <utility>

namespace dlo {
namespace {

Error closed_error(const char* where) {
  return {Code::unavailable, where, "the engine stopped taking messages from the office"};
}

/// The start mark was made and no outcome followed it.
bool was_interrupted(const Counters& counters) {
  return counters.attempt > counters.failure;
}

Delivery delivery_of(const Claim& claim) {
  const DeadLetter& record = claim.record;
  Delivery delivery;
  delivery.lease = claim.lease;
  delivery.message = record.message;
  delivery.counters = record.counters;
  delivery.leased_until = claim.until;
  delivery.interrupted = was_interrupted(record.counters);
  delivery.first_attempt_at = record.first_attempt_at;
  if (record.next_retry_at && record.last_failed_at) {
    delivery.previous_delay = std::max(Millis{0}, *record.next_retry_at - *record.last_failed_at);
  }
  delivery.last_error = record.failure.text;
  return delivery;
}

}  // namespace

ClaimFrom OfficeSource::from() const {
  ClaimFrom from = options_.from;
  if (!options_.without) return from;
  from.without = options_.without();
  std::ranges::sort(from.without);
  return from;
}

Result<std::vector<Delivery>> OfficeSource::claim(const ReceiveRequest& request, TimePoint now) {
  if (options_.timer != nullptr) options_.timer->begin();
  const ClaimFrom from = this->from();
  auto claims = office_.claim(request.limit, now, request.lease_for, from);
  if (!claims) return claims.error();
  if (options_.timer != nullptr && claims->size() < request.limit) {
    AggregateRequest when;
    when.tallies = false;
    when.due = from;
    auto numbers = office_.aggregate(when);
    if (numbers) options_.timer->found(numbers->next_due);  // else: ask again
  }
  std::vector<Delivery> deliveries;
  deliveries.reserve(claims->size());
  for (const Claim& claim : *claims) {
    deliveries.push_back(delivery_of(claim));
    if (claim.was != Status::waiting) {
      // A person may have corrected it; the lease runs out if that cannot be read now.
      auto read = use_newest_version(deliveries.back(), claim.record.id);
      if (!read) return read.error();
    }
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const auto& entry) {
    return entry.second.until + request.lease_for < now;  // lost long ago, never settled
  });
  for (const Claim& claim : *claims) {
    const bool waits = claim.was == Status::waiting;
    held_[claim.lease] = {claim.record.id,
                          claim.record.occurrence,
                          waits ? Status::waiting : Status::retrying,
                          claim.was,
                          claim.record.counters,
                          claim.until,
                          false,
                          options_.rules ? options_.rules(claim.record) : nullptr,
                          claim.record.metadata};
  }
  return deliveries;
}

Result<void> OfficeSource::use_newest_version(Delivery& delivery, const RecordId& id) {
  auto detail = office_.get(id);
  if (!detail) return detail.error();
  if (detail->versions.empty()) return {};
  auto edited = std::make_shared<Message>(*delivery.message);
  edited->headers = std::move(detail->versions.back().headers);
  edited->payload = std::move(detail->versions.back().payload);
  delivery.message = std::move(edited);
  return {};
}

/// With a timer the office is asked when there is something to ask for. Without one nobody tells us
/// when something falls due, so this is the pace at which we look.
void OfficeSource::wait_for_work(Millis wait, TimePoint now) {
  if (options_.timer != nullptr) return options_.timer->wait(now + wait);
  std::unique_lock lock(mutex_);
  closed_or_waited_.wait_for(lock, wait, [this] { return closed_; });
}

Result<std::vector<Delivery>> OfficeSource::receive(const ReceiveRequest& request, TimePoint now) {
  const auto closed = [this] {
    const std::lock_guard lock(mutex_);
    return closed_;
  };
  if (closed()) return closed_error("office_source.receive");
  const DueTimer* const timer = options_.timer;
  if (timer == nullptr || timer->is_due(now)) {
    auto first = claim(request, now);
    if (!first || !first->empty() || request.wait <= Millis{0}) return first;
  }
  if (request.wait <= Millis{0}) return std::vector<Delivery>{};
  const auto began = std::chrono::steady_clock::now();
  wait_for_work(request.wait, now);
  if (closed()) return closed_error("office_source.receive");
  const auto waited = std::chrono::floor<Millis>(std::chrono::steady_clock::now() - began);
  if (timer == nullptr) return claim(request, now + waited);
  const TimePoint then = timer->now();
  return timer->is_due(then) ? claim(request, then) : std::vector<Delivery>{};
}

std::optional<OfficeSource::Held> OfficeSource::held(const LeaseToken& lease) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(lease);
  if (found == held_.end()) return std::nullopt;
  return found->second;
}

Transition OfficeSource::start_mark(const LeaseToken& lease, const Held& held,
                                    TimePoint now) const {
  Transition mark;
  mark.id = held.id;
  mark.lease = lease;
  mark.lease_for = Millis{1};  // carried on, never shortened
  mark.to = held.status;
  mark.now = now;
  mark.counters = with_start(held.counters);
  return mark;
}

void OfficeSource::started(const Transition& mark) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(*mark.lease);
  if (found == held_.end()) return;
  found->second.counters = *mark.counters;
  found->second.started = true;
}

Result<std::vector<bool>> OfficeSource::start(std::span<const LeaseToken> leases, TimePoint now) {
  std::vector<bool> live(leases.size());
  std::vector<Change> marks;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const auto entry = held(leases[i]);
    live[i] = entry && entry->started;
    if (!entry || entry->started) continue;
    marks.emplace_back(start_mark(leases[i], *entry, now));
    places.push_back(i);
  }
  if (marks.empty()) return live;
  // All together first: one list, one sync. If one of them lost its lease, each by itself.
  const auto together = office_.apply(marks);
  if (!together && is_retryable(together.error().code)) return together.error();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!together) {
      const auto alone = office_.apply({&marks[i], 1});
      if (!alone && is_retryable(alone.error().code)) return alone.error();
      if (!alone) continue;  // the lease is gone, or somebody moved the record: not ours to run
    }
    live[places[i]] = true;
    started(std::get<Transition>(marks[i]));
  }
  return live;
}

Transition OfficeSource::ending_of(const Held& held, const Settlement& settlement,
                                   TimePoint now) const {
  Transition move;
  move.id = held.id;
  move.lease = settlement.lease;
  move.now = now;
  move.to = held.home;
  if (std::holds_alternative<Completed>(settlement.ending)) {
    move.to = Status::resolved;
    move.counters = held.counters;
    move.clear_next_retry = true;
    move.resolution = Resolution{now, "engine", "retried", ""};
  } else if (const auto* failed = std::get_if<Failed>(&settlement.ending)) {
    move.counters = failed->counters;
    move.next_retry_at = failed->again_at;
  } else if (const auto* abandoned = std::get_if<Abandoned>(&settlement.ending)) {
    Counters counters = held.counters;
    if (abandoned->increment_count) {
      counters.abandon += counters.abandon != UINT32_MAX;
    } else if (counters.fetch > 0) {
      --counters.fetch;
    }
    move.counters = counters;
    move.next_retry_at = abandoned->again_at;
  } else {
    Counters counters = held.started ? without_start(held.counters) : held.counters;
    if (counters.fetch > 0) --counters.fetch;
    move.counters = counters;
  }
  return move;
}

Result<SettleAnswer> OfficeSource::settle_one(const Settlement& settlement, TimePoint now) {
  const auto entry = held(settlement.lease);
  if (!entry) return SettleAnswer{Settled::lease_lost, 0};
  SettleAnswer answer;
  if (!std::holds_alternative<DeadLettered>(settlement.ending)) {
    const Transition move = ending_of(*entry, settlement, now);
    answer.abandon_count = move.counters->abandon;
    const std::vector<Change> changes{move};
    auto applied = office_.apply(changes);
    if (!applied) {
      if (is_retryable(applied.error().code)) return applied.error();
      answer.settled = Settled::lease_lost;
    }
  }
  const std::lock_guard lock(mutex_);
  held_.erase(settlement.lease);
  return answer;
}

Result<std::vector<SettleAnswer>> OfficeSource::settle(std::span<const Settlement> settlements,
                                                       TimePoint now) {
  // All together first: one list, one sync. If one of them lost its lease, each by itself.
  std::vector<Change> changes;
  std::vector<SettleAnswer> answers(settlements.size());
  bool together = true;
  for (std::size_t i = 0; i < settlements.size() && together; ++i) {
    const auto entry = held(settlements[i].lease);
    together = entry.has_value();
    if (!together || std::holds_alternative<DeadLettered>(settlements[i].ending)) continue;
    Transition move = ending_of(*entry, settlements[i], now);
    answers[i].abandon_count = move.counters->abandon;
    changes.emplace_back(std::move(move));
  }
  if (together && (changes.empty() || office_.apply(changes))) {
    const std::lock_guard lock(mutex_);
    for (const Settlement& settlement : settlements) held_.erase(settlement.lease);
    return answers;
  }
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    auto one = settle_one(settlements[i], now);
    if (!one) return one.error();
    answers[i] = *one;
  }
  return answers;
}

Result<std::vector<bool>> OfficeSource::renew(std::span<const LeaseToken> leases, TimePoint now,
                                              Millis lease_for) {
  auto live = office_.renew(leases, now, lease_for);
  if (!live) return live;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const auto found = held_.find(leases[i]);
    if (found == held_.end()) continue;
    if ((*live)[i]) {
      found->second.until = std::max(found->second.until, now + lease_for);
    } else {
      held_.erase(found);
    }
  }
  return live;
}

Result<std::vector<PublishAnswer>> OfficeSource::publish(std::span<const Publication> /*messages*/,
                                                         TimePoint /*now*/) {
  return Error{Code::refused, "office_source.publish",
               "messages come to wait in the office by failing; send new ones to their source"};
}

Result<SourceStats> OfficeSource::stats(TimePoint /*now*/) {
  auto numbers = office_.aggregate({});
  if (!numbers) return numbers.error();
  SourceStats stats;
  const ClaimFrom from = this->from();
  for (const Tally& tally : numbers->tallies) {
    if (!takes(from, tally.source)) continue;
    if (tally.status == Status::waiting) stats.delayed += tally.count;
    if (tally.status == Status::parked) stats.held += tally.count;
  }
  const std::lock_guard lock(mutex_);
  stats.leased = held_.size();
  stats.delayed -= std::min(stats.delayed, stats.leased);
  return stats;
}

void OfficeSource::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  closed_or_waited_.notify_all();
  if (options_.timer != nullptr) options_.timer->stop();
}

Result<std::optional<DeadLetter>> OfficeSource::find_repeat(const Delivery& /*delivery*/) {
  return std::optional<DeadLetter>();  // its lease on the record says all there is to say
}

Result<void> OfficeSource::name(const Delivery& delivery, DeadLetter& record) {
  const auto entry = held(delivery.lease);
  if (!entry) {
    return Error{Code::lease_lost, "office_source.name", "the lease on this record is gone"};
  }
  record.id = entry->id;
  record.occurrence = entry->occurrence;
  return {};
}

std::shared_ptr<const RuleBook> OfficeSource::rules(const Delivery& delivery) {
  const auto entry = held(delivery.lease);
  return entry ? entry->rules : nullptr;
}

std::optional<KnownRecord> OfficeSource::record_of(const Delivery& delivery) {
  const auto entry = held(delivery.lease);
  if (!entry) return std::nullopt;
  return KnownRecord{entry->id, entry->occurrence, entry->metadata};
}

void OfficeSource::write(const Delivery& delivery, const DeadLetterPtr& record,
                         std::vector<Attempt> attempts, TimePoint now, std::vector<Change>& out) {
  Transition move;
  move.id = record->id;
  move.lease = delivery.lease;
  move.now = now;
  move.to = record->status;
  move.counters = record->counters;
  move.failure = record->failure;
  move.category = record->category;
  move.rule = record->rule;
  if (record->status == Status::waiting) {
    const auto entry = held(delivery.lease);
    if (entry) move.to = entry->home;  // a dead letter that is retried stays one
    move.next_retry_at = record->next_retry_at;
  } else {
    move.reason = record->reason;
    move.description = record->description;
    move.fingerprint = record->fingerprint;
    move.clear_next_retry = true;
    move.died_at = record->died_at;
  }
  out.emplace_back(std::move(move));
  if (!attempts.empty()) out.emplace_back(AddAttempt{record->id, std::move(attempts.back())});
}

}  // namespace dlo
