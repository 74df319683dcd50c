#include "dlo/engine/office_source.h"

#include <algorithm>
#include <utility>

#include "dlo/broker/moments.h"
#include "dlo/core/dependencies.h"
#include "dlo/core/retry_request.h"
#include "dlo/engine/record.h"

namespace dlo {
namespace {

Error closed_error(const char* where) {
  return {Code::unavailable, where, "the engine stopped taking messages from the office"};
}

/// Only such a record can have been cut off; without `crash_counts` it stays such a one for good.
bool has_unreported_starts(const Counters& counters) {
  return counters.attempt > counters.failure;
}

/// The number of the last start whose end is written down. A record that came without any attempts
/// is taken at its counters' word.
std::uint32_t last_told(const Counters& counters, const std::vector<Attempt>& attempts) {
  if (!attempts.empty()) return attempts.front().number;  // the newest
  return has_unreported_starts(counters) && counters.total > 0 ? counters.total - 1
                                                               : counters.total;
}

/// With the run that was cut off before this start, as core accounts for it: while the next one
/// runs the record says so too. What is given back unrun stays as it was found.
Counters accounted(const Counters& counters, std::uint32_t told, const RuleBook* rules) {
  if (rules == nullptr || told >= counters.total) return counters;
  return rules->resume(counters).counters;
}

Delivery delivery_of(const Claim& claim, const Instant& now) {
  const DeadLetter& record = claim.record;
  Delivery delivery;
  delivery.lease = claim.lease;
  delivery.message = record.message;
  delivery.counters = record.counters;
  delivery.leased_until = claim.until;
  delivery.steady_until = now.steady_at(claim.until);
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

Result<std::vector<Delivery>> OfficeSource::claim(const ReceiveRequest& request,
                                                  const Instant& now) {
  if (options_.timer != nullptr) options_.timer->begin();
  const ClaimFrom from = this->from();
  auto claims = office_.claim(request.limit, now.wall, request.lease_for, from);
  if (!claims) return claims.error();
  if (options_.timer != nullptr && claims->size() < request.limit) {
    AggregateRequest when;
    when.tallies = false;
    when.due = from;
    auto numbers = office_.aggregate(when);
    if (numbers) options_.timer->found(numbers->next_due);  // else: ask again
  }
  std::vector<Delivery> deliveries;
  std::vector<Held> held;
  deliveries.reserve(claims->size());
  held.reserve(claims->size());
  for (const Claim& claim : *claims) {
    deliveries.push_back(delivery_of(claim, now));
    held.push_back(held_of(claim));
    // The lease runs out if that cannot be read now.
    if (auto read = read_on(claim, deliveries.back(), held.back()); !read) return read.error();
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const auto& entry) {
    return entry.second.until + request.lease_for < now.wall;  // lost long ago, never settled
  });
  for (std::size_t i = 0; i < held.size(); ++i) held_[(*claims)[i].lease] = std::move(held[i]);
  return deliveries;
}

OfficeSource::Held OfficeSource::held_of(const Claim& claim) const {
  Held held;
  held.id = claim.record.id;
  held.occurrence = claim.record.occurrence;
  held.status = claim.was == Status::waiting ? Status::waiting : Status::retrying;
  held.home = claim.was;
  held.counters = claim.record.counters;
  held.until = claim.until;
  held.told = claim.record.counters.total;
  held.node = claim.record.node;
  if (options_.rules) held.rules = options_.rules(claim.record);
  held.metadata = claim.record.metadata;
  held.calls = put_off_.calls();
  held.category = claim.record.category;
  held.says_category = !claim.record.reason.empty() && claim.record.reason == held.category;
  held.waited = claim.record.reason == waits_reason || claim.record.reason == blocked_reason;
  return held;
}

/// What a claim does not carry: a correction by a person, and whether the last start has an end.
Result<void> OfficeSource::read_on(const Claim& claim, Delivery& delivery, Held& held) {
  const bool perhaps_cut_off = has_unreported_starts(held.counters);
  const bool perhaps_corrected = claim.was != Status::waiting;
  if (!perhaps_cut_off && !perhaps_corrected) return {};
  auto detail = office_.get(held.id);
  if (!detail) return detail.error();
  if (perhaps_cut_off) {
    held.told = std::min(held.told, last_told(held.counters, detail->attempts));
    delivery.interrupted = held.told < held.counters.total;
  }
  if (!perhaps_corrected || detail->versions.empty()) return {};
  auto edited = std::make_shared<Message>(*delivery.message);
  edited->headers = std::move(detail->versions.back().headers);
  edited->payload = std::move(detail->versions.back().payload);
  delivery.message = std::move(edited);
  return {};
}

/// With a timer the office is asked when there is something to ask for. Without one nobody tells us
/// when something falls due, so this is the pace at which we look.
void OfficeSource::wait_for_work(const ReceiveRequest& request, TimePoint now) {
  if (options_.timer != nullptr) return options_.timer->wait(now + request.wait, request.stop);
  std::unique_lock lock(mutex_);
  closed_or_waited_.wait_for(lock, request.wait, [this] { return closed_; });
}

Result<std::vector<Delivery>> OfficeSource::receive(const ReceiveRequest& request, Instant now) {
  const auto closed = [this] {
    const std::lock_guard lock(mutex_);
    return closed_;
  };
  if (closed()) return closed_error("office_source.receive");
  if (request.expired_only) return std::vector<Delivery>{};  // what waits in the office is live
  bring_called(now.wall);
  const DueTimer* const timer = options_.timer;
  if (timer == nullptr || timer->is_due(now.wall)) {
    auto first = claim(request, now);
    if (!first || !first->empty() || request.wait <= Millis{0}) return first;
  }
  if (request.wait <= Millis{0}) return std::vector<Delivery>{};
  const auto began = std::chrono::steady_clock::now();
  wait_for_work(request, now.wall);
  if (closed()) return closed_error("office_source.receive");
  const auto waited = std::chrono::floor<Millis>(std::chrono::steady_clock::now() - began);
  if (timer == nullptr) return claim(request, later(now, waited));
  const Instant then = timer->now();
  bring_called(then.wall);
  return timer->is_due(then.wall) ? claim(request, then) : std::vector<Delivery>{};
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
  mark.counters = with_start(accounted(held.counters, held.told, held.rules.get()));
  return mark;
}

void OfficeSource::started(const Transition& mark) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(*mark.lease);
  if (found == held_.end()) return;
  found->second.told = found->second.counters.total;
  found->second.counters = *mark.counters;
  found->second.started_at = mark.now;
}

Result<std::vector<bool>> OfficeSource::start(std::span<const LeaseToken> leases, Instant now) {
  std::vector<bool> live(leases.size());
  std::vector<Change> changes;
  struct Mark {
    std::size_t place = 0;  // among the leases
    std::size_t first = 0;  // of its changes: the mark, and perhaps the end of the run before
    std::size_t count = 1;
  };
  std::vector<Mark> marks;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const auto entry = held(leases[i]);
    live[i] = entry && entry->started_at;
    if (!entry || entry->started_at) continue;
    marks.push_back({i, changes.size()});
    changes.emplace_back(start_mark(leases[i], *entry, now.wall));
    if (entry->told >= entry->counters.total) continue;
    // Now, for this run may be cut off as well: then nobody would know of the one before it.
    changes.emplace_back(
        AddAttempt{entry->id, cut_off_attempt(entry->counters, now.wall, entry->node)});
    marks.back().count = 2;
  }
  if (marks.empty()) return live;
  // All together first: one list, one sync. If one of them lost its lease, each by itself.
  const auto together = office_.apply(changes);
  if (!together && is_retryable(together.error().code)) return together.error();
  for (const Mark& mark : marks) {
    if (!together) {
      const auto alone = office_.apply({&changes[mark.first], mark.count});
      if (!alone && is_retryable(alone.error().code)) return alone.error();
      if (!alone) continue;  // the lease is gone, or somebody moved the record: not ours to run
    }
    live[mark.place] = true;
    started(std::get<Transition>(changes[mark.first]));
  }
  return live;
}

Result<std::vector<bool>> OfficeSource::renew(std::span<const LeaseToken> leases, Instant now,
                                              Millis lease_for) {
  auto live = office_.renew(leases, now.wall, lease_for);
  if (!live) return live;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const auto found = held_.find(leases[i]);
    if (found == held_.end()) continue;
    if ((*live)[i]) {
      found->second.until = std::max(found->second.until, now.wall + lease_for);
    } else {
      held_.erase(found);
    }
  }
  return live;
}

Result<std::vector<PublishAnswer>> OfficeSource::publish(std::span<const Publication> /*messages*/,
                                                         Instant /*now*/) {
  return Error{Code::refused, "office_source.publish",
               "messages come to wait in the office by failing; send new ones to their source"};
}

Result<SourceStats> OfficeSource::stats(Instant /*now*/) {
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
  // What the message asked for holds for every category.
  const RetryRequest asked = request_of(record->message->headers);
  if (!asked.policy) move.policy = record->policy;
  if (!asked.max_retries) move.limit = record->limit;
  const auto entry = held(delivery.lease);
  if (record->status == Status::waiting) {
    if (entry) move.to = entry->home;  // a dead letter that is retried stays one
    if (entry && (entry->says_category || entry->waited)) {
      move.reason = record->category;
      move.description = record->description;
    }
    move.next_retry_at = record->next_retry_at;
  } else {
    move.reason = record->reason;
    move.description = record->description;
    move.fingerprint = record->fingerprint;
    move.clear_next_retry = true;
    move.died_at = record->died_at;
  }
  out.emplace_back(std::move(move));
  for (Attempt& attempt : attempts) {
    if (entry && attempt.number <= entry->told) continue;
    out.emplace_back(AddAttempt{record->id, std::move(attempt)});
  }
}

}  // namespace dlo
