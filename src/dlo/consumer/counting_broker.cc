#include "dlo/consumer/counting_broker.h"

#include <utility>

#include "dlo/core/identity.h"
#include "dlo/engine/office_behind.h"

namespace dlo {

using consumer::RequeuedCounts;

namespace {

constexpr std::size_t page_size = 1'000;

/// It is over, one way or another.
bool is_end(const Ending& ending) noexcept {
  return std::holds_alternative<Completed>(ending) || std::holds_alternative<DeadLettered>(ending);
}

/// Who asks this source must not take it for the one that fails.
Error of_office(Error error) {
  error.where = office_behind_source;
  return error;
}

}  // namespace

CountingBroker::CountingBroker(std::unique_ptr<Broker> inner, Office& office,
                               const std::string& source)
    : inner_(std::move(inner)), office_(office), kind_("requeued/" + source) {}

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
    held.first_attempt_at = delivery.first_attempt_at;
  }
  return {};
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
    held[i] = {each.message, each.first_attempt_at};
    if (auto known = recall(each, held[i]); !known) {
      give_all_back(*deliveries, now);
      return known.error();
    }
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i].message->id.empty()) continue;
    held_[(*deliveries)[i].lease] = std::move(held[i]);
  }
  return deliveries;
}

Result<std::vector<bool>> CountingBroker::start(std::span<const LeaseToken> leases, Instant now) {
  auto live = inner_->start(leases, now);
  if (!live) return live;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const auto found = (*live)[i] ? held_.find(leases[i]) : held_.end();
    if (found == held_.end() || found->second.first_attempt_at) continue;
    found->second.first_attempt_at = now.wall;
  }
  return live;
}

std::vector<Change> CountingBroker::to_keep(std::span<const Settlement> settlements,
                                            TimePoint now) {
  std::vector<Change> changes;
  const std::lock_guard lock(mutex_);
  for (const Settlement& each : settlements) {
    const auto* failed = std::get_if<Failed>(&each.ending);
    if (failed == nullptr || failed->again_at > now) continue;
    const auto found = held_.find(each.lease);
    if (found == held_.end()) continue;
    Delivery delivery;
    delivery.first_attempt_at = found->second.first_attempt_at;
    changes.emplace_back(
        document(*found->second.message, print(consumer::counts_of(*failed, delivery, now))));
  }
  return changes;
}

/// Of what has ended; if that cannot be written it grows old.
void CountingBroker::forget(std::span<const Settlement> settlements,
                            std::span<const SettleAnswer> answers) {
  std::vector<Change> changes;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < settlements.size(); ++i) {
      const auto found = held_.find(settlements[i].lease);
      if (found == held_.end()) continue;
      const bool over = is_end(settlements[i].ending) && answers[i].settled == Settled::done;
      if (over && found->second.counted) {
        changes.emplace_back(document(*found->second.message, std::nullopt));
      }
      held_.erase(found);
    }
  }
  if (!changes.empty()) (void)office_.apply(changes);
}

Result<std::vector<SettleAnswer>> CountingBroker::settle(std::span<const Settlement> settlements,
                                                         Instant now) {
  const auto counts = to_keep(settlements, now.wall);
  if (!counts.empty()) {
    if (const auto kept = office_.apply(counts); !kept) return of_office(kept.error());
  }
  auto answers = inner_->settle(settlements, now);
  if (answers) forget(settlements, *answers);
  return answers;
}

Result<std::vector<bool>> CountingBroker::renew(std::span<const LeaseToken> leases, Instant now,
                                                Millis lease_for) {
  auto live = inner_->renew(leases, now, lease_for);
  if (!live) return live;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    if (!(*live)[i]) held_.erase(leases[i]);
  }
  return live;
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
