#include "dlo/consumer/counting_broker.h"

#include <utility>

#include "dlo/core/identity.h"
#include "dlo/engine/office_behind.h"
#include "dlo/engine/replay_witness.h"

namespace dlo {

using consumer::RequeuedCounts;

namespace {

constexpr std::size_t page_size = 1'000;

/// It is over, one way or another.
bool is_end(const Ending& ending) noexcept {
  return std::holds_alternative<Completed>(ending) || std::holds_alternative<DeadLettered>(ending);
}

/// It never ran: whoever gets it next finds it as it was.
bool is_unrun(const Ending& ending) noexcept {
  const auto* abandoned = std::get_if<Abandoned>(&ending);
  return std::holds_alternative<ReleasedUnrun>(ending) ||
         (abandoned != nullptr && !abandoned->increment_count);
}

/// Who asks this source must not take it for the one that fails.
Error of_office(Error error) {
  error.where = office_behind_source;
  return error;
}

}  // namespace

CountingBroker::CountingBroker(std::unique_ptr<Broker> inner, Office& office,
                               const std::string& source, consumer::Starts starts)
    : inner_(std::move(inner)),
      office_(office),
      kind_("requeued/" + source),
      starts_(std::move(starts)) {}

PutDocument CountingBroker::document(const Message& message,
                                     std::optional<std::string> body) const {
  return {kind_, to_string(identify(message)), std::move(body), std::nullopt};
}

Result<void> CountingBroker::recall(Delivery& delivery, Held& held) {
  Ledger* const ledger = office_.extras().ledger;
  if (ledger == nullptr || !delivery.may_be_repeat || delivery.message->id.empty()) return {};
  const auto found = ledger->document(kind_, to_string(identify(*delivery.message)));
  if (!found) return of_office(found.error());
  if (!*found) return {};
  held.counted = true;
  if (const auto counts = consumer::parse_requeued((*found)->body)) {
    consumer::go_on(delivery, *counts);
    consumer::interrupt(delivery, counts->started);
    held.found = std::move((*found)->body);
  }
  return {};
}

void CountingBroker::look_at_marks(Delivery& delivery, Held& held) {
  if (starts_.marks == nullptr || !starts_.marks->any_left()) return;
  held.left = starts_.marks->find(consumer::StartMarks::key_of(*delivery.message));
  if (!held.left) return;
  consumer::interrupt(delivery, held.left->attempt);
  if (!delivery.first_attempt_at) delivery.first_attempt_at = held.left->first_at;
}

void CountingBroker::give_all_back(std::span<const Delivery> deliveries, Instant now) {
  std::vector<Settlement> back;
  for (const Delivery& each : deliveries) back.push_back({each.lease, ReleasedUnrun{}});
  (void)inner_->settle(back, now);
}

Result<std::vector<Delivery>> CountingBroker::receive(const ReceiveRequest& request, Instant now) {
  auto deliveries = inner_->receive(request, now);
  if (!deliveries) return deliveries;
  std::vector<Held> held(deliveries->size());
  for (std::size_t i = 0; i < held.size(); ++i) {
    Delivery& each = (*deliveries)[i];
    held[i].message = each.message;
    held[i].may_be_repeat = each.may_be_repeat;
    if (auto known = recall(each, held[i]); !known) {
      for (Held& other : held) unmark(other, true);
      give_all_back(*deliveries, now);
      return known.error();
    }
    look_at_marks(each, held[i]);
    held[i].first_attempt_at = each.first_attempt_at;
    held[i].attempt = each.counters.attempt;
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < held.size(); ++i) {
    held_[(*deliveries)[i].lease] = std::move(held[i]);
  }
  return deliveries;
}

Result<std::vector<bool>> CountingBroker::start(std::span<const LeaseToken> leases, Instant now) {
  auto live = inner_->start(leases, now);
  if (!live) return live;
  if (starts_.shared) {
    if (const auto noted = note(leases, *live, now.wall); !noted) return noted.error();
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const auto found = (*live)[i] ? held_.find(leases[i]) : held_.end();
    if (found == held_.end()) continue;
    Held& held = found->second;
    if (!held.first_attempt_at) held.first_attempt_at = now.wall;
    if (starts_.marks != nullptr) mark(held, now.wall);
  }
  return live;
}

std::optional<std::string> CountingBroker::begun(const Held& held, TimePoint now) const {
  if (!held.may_be_repeat || held.noted || held.message->id.empty()) return std::nullopt;
  RequeuedCounts counts;
  if (held.found) counts = consumer::parse_requeued(*held.found).value_or(counts);
  if (!counts.first_attempt_at) counts.first_attempt_at = held.first_attempt_at.value_or(now);
  counts.at = now;
  counts.started = held.attempt + 1;
  return print(counts);
}

/// In the office, for whoever gets them if this process dies of them: those that may be repeats.
Result<void> CountingBroker::note(std::span<const LeaseToken> leases, const std::vector<bool>& live,
                                  TimePoint now) {
  std::vector<Change> changes;
  std::vector<LeaseToken> noted;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < leases.size(); ++i) {
      const auto found = live[i] ? held_.find(leases[i]) : held_.end();
      if (found == held_.end()) continue;
      auto body = begun(found->second, now);
      if (!body) continue;
      changes.emplace_back(document(*found->second.message, std::move(body)));
      noted.push_back(leases[i]);
    }
  }
  if (changes.empty()) return {};
  if (const auto kept = office_.apply(changes); !kept) return of_office(kept.error());
  const std::lock_guard lock(mutex_);
  for (const LeaseToken& each : noted) {
    const auto found = held_.find(each);
    if (found != held_.end()) found->second.noted = found->second.counted = true;
  }
  return {};
}

void CountingBroker::mark(Held& held, TimePoint now) {
  if (held.place) return;
  if (held.left) {
    held.place = held.left->place;
    starts_.marks->raise(*held.place, held.attempt + 1);
    return;
  }
  held.place = starts_.marks->put(consumer::StartMarks::key_of(*held.message), held.attempt + 1,
                                  held.first_attempt_at.value_or(now));
}

void CountingBroker::unmark(Held& held, bool unrun) {
  if (held.left && unrun) {
    starts_.marks->leave(consumer::StartMarks::key_of(*held.message), *held.left);
  } else if (held.left || held.place) {
    starts_.marks->remove(held.left ? held.left->place : *held.place);
  }
  held.left.reset();
  held.place.reset();
}

PutDocument CountingBroker::as_found(const Held& held) const {
  return document(*held.message, held.found);
}

std::vector<Change> CountingBroker::to_keep(std::span<const Settlement> settlements,
                                            TimePoint now) {
  std::vector<Change> changes;
  const std::lock_guard lock(mutex_);
  for (const Settlement& each : settlements) {
    const auto* failed = std::get_if<Failed>(&each.ending);
    if (failed == nullptr || failed->again_at > now) continue;
    const auto found = held_.find(each.lease);
    if (found == held_.end() || found->second.message->id.empty()) continue;
    Delivery delivery;
    delivery.first_attempt_at = found->second.first_attempt_at;
    changes.emplace_back(
        document(*found->second.message, print(consumer::counts_of(*failed, delivery, now))));
  }
  return changes;
}

/// Of what has ended; if that cannot be written it grows old. What was sent back and went well is
/// seen to be cured (R24).
void CountingBroker::forget(std::span<const Settlement> settlements,
                            std::span<const SettleAnswer> answers, TimePoint now) {
  std::vector<Change> changes;
  std::vector<MessagePtr> cured;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < settlements.size(); ++i) {
      const auto found = held_.find(settlements[i].lease);
      if (found == held_.end()) continue;
      Held& held = found->second;
      const bool over = is_end(settlements[i].ending) && answers[i].settled == Settled::done;
      const bool unrun = is_unrun(settlements[i].ending);
      if (over && held.counted) changes.emplace_back(document(*held.message, std::nullopt));
      if (unrun && held.noted) changes.emplace_back(as_found(held));
      if (over && std::holds_alternative<Completed>(settlements[i].ending) &&
          !held.message->headers.empty() && lineage_of(held.message->headers)) {
        cured.push_back(held.message);
      }
      unmark(held, unrun);
      held_.erase(found);
    }
  }
  if (!changes.empty()) (void)office_.apply(changes);
  witness_replays(office_, cured, now);
}

Result<std::vector<SettleAnswer>> CountingBroker::settle(std::span<const Settlement> settlements,
                                                         Instant now) {
  const auto counts = to_keep(settlements, now.wall);
  if (!counts.empty()) {
    if (const auto kept = office_.apply(counts); !kept) return of_office(kept.error());
  }
  auto answers = inner_->settle(settlements, now);
  if (answers) forget(settlements, *answers, now.wall);
  return answers;
}

Result<std::vector<bool>> CountingBroker::renew(std::span<const LeaseToken> leases, Instant now,
                                                Millis lease_for) {
  auto live = inner_->renew(leases, now, lease_for);
  if (!live) return live;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const auto found = (*live)[i] ? held_.end() : held_.find(leases[i]);
    if (found == held_.end()) continue;
    unmark(found->second, !found->second.place);  // this process lives: nothing was cut off
    held_.erase(found);
  }
  return live;
}

/// What still runs is let go of on purpose: that is no crash of its.
void CountingBroker::close() noexcept {
  std::vector<Change> changes;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [lease, held] : held_) {
      if (held.noted) changes.emplace_back(as_found(held));
      unmark(held, true);
    }
    held_.clear();
  }
  if (!changes.empty()) (void)office_.apply(changes);
  inner_->close();
}

Result<std::vector<PublishAnswer>> CountingBroker::publish(std::span<const Publication> messages,
                                                           Instant now) {
  return inner_->publish(messages, now);
}

Result<SourceStats> CountingBroker::stats(Instant now) {
  return inner_->stats(now);
}

Result<std::size_t> CountingBroker::sweep(TimePoint now) {
  Ledger* const ledger = office_.extras().ledger;
  std::size_t gone = 0;
  std::string after;
  while (ledger != nullptr) {
    const auto page = ledger->documents(kind_, after, page_size);
    if (!page) return of_office(page.error());
    if (page->empty()) break;
    after = page->back().key;
    std::vector<Change> changes;
    for (const Document& each : *page) {
      const auto counts = consumer::parse_requeued(each.body);
      if (counts && counts->at + kept_for > now) continue;
      changes.emplace_back(PutDocument{kind_, each.key, std::nullopt, std::nullopt});
    }
    gone += changes.size();
    if (changes.empty()) continue;
    if (const auto swept = office_.apply(changes); !swept) return of_office(swept.error());
  }
  return gone;
}

}  // namespace dlo
