#include "dlo/broker/rabbitmq/hand.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "dlo/broker/collected_headers.h"
#include "dlo/broker/memory/memory_broker.h"
#include "dlo/broker/moments.h"

namespace dlo::rabbitmq {
namespace {

using Steady = std::chrono::steady_clock;

SourceOptions local_options(const RabbitOptions& options) {
  SourceOptions local;
  local.ageing = options.ageing;
  local.claims_count = options.claims_count;
  local.drop_expired = options.drop_expired;
  local.ttl = options.ttl;
  local.keys_in_order = false;  // other consumers have other messages of the same key
  return local;
}

Error short_lease(const char* where) {
  return {Code::invalid_argument, where,
          "lease_for must be at least 1 ms, or the lease is over before it is answered"};
}

void count_returns(Counters& counters, std::uint32_t returns, bool as_attempts) {
  counters.fetch = std::max(counters.fetch, returns);
  if (!as_attempts || returns <= counters.attempt) return;
  counters.attempt = returns;
  counters.total = std::max(counters.total, returns);
  counters.retry = std::max(counters.retry, returns - 1);
}

}  // namespace

Hand::Hand(const RabbitOptions& options)
    : source_(options.source.empty() ? options.queue : options.source),
      event_type_(options.event_type),
      options_(local_options(options)),
      returns_are_attempts_(options.returns_are_attempts),
      requeues_(options.requeues),
      queue_(new_queue()),
      why_down_(Error{Code::unavailable, "rabbitmq.connection", "not connected yet"}) {}

std::unique_ptr<memory::Queue> Hand::new_queue() const {
  auto queue = std::make_unique<memory::Queue>(options_);
  queue->set_epoch(epoch_);
  return queue;
}

void Hand::began(std::uint32_t epoch) {
  const std::lock_guard lock(mutex_);
  epoch_ = epoch;
  queue_ = new_queue();
  why_down_.reset();
}

void Hand::lost(const Error& why) {
  const std::lock_guard lock(mutex_);
  const auto before = queue_->stats();
  past_.completed += before.completed;
  past_.dead_lettered += before.dead_lettered;
  past_.expired += before.expired;
  why_down_ = why;
  ++epoch_;  // no token of before is of this one
  queue_ = new_queue();
  inbox_.clear();
  arrived_.notify_all();
}

void Hand::came(Incoming&& incoming) {
  Newcomer newcomer;
  newcomer.redelivered = incoming.redelivered;
  newcomer.message = std::make_shared<Tagged>(std::move(incoming.parcel.message), incoming.tag);
  newcomer.message->source = source_;
  if (newcomer.message->event_type.empty() && !event_type_.empty()) {
    newcomer.message->event_type = event_type_;
    newcomer.message->headers.push_back({std::string(untyped_header), "true", HeaderType::boolean});
  }
  newcomer.carried = std::move(incoming.parcel.carried);
  count_returns(newcomer.carried.counters, incoming.parcel.returns, returns_are_attempts_);
  const std::lock_guard lock(mutex_);
  inbox_.push_back(std::move(newcomer));
}

void Hand::came_all() {
  const std::lock_guard lock(mutex_);
  if (!inbox_.empty()) arrived_.notify_all();
}

void Hand::admit(Newcomer newcomer, TimePoint now) {
  Message& message = *newcomer.message;
  if (message.enqueued_at == TimePoint{}) message.enqueued_at = now;
  if (options_.ttl && !message.expires_at) {
    message.expires_at = later(message.enqueued_at, *options_.ttl);
  }
  Carried& carried = newcomer.carried;
  memory::Arrival arrival;
  arrival.due = carried.due.value_or(now);
  arrival.counters = carried.counters;
  arrival.bytes = content_size(message);
  if (newcomer.redelivered || carried != Carried{}) {
    arrival.past = std::make_unique<memory::Past>();
    arrival.past->first_attempt_at = carried.first_attempt_at.value_or(memory::Slot::never);
    arrival.past->previous_delay = carried.previous_delay;
    arrival.past->last_error = std::move(carried.last_error);
    arrival.past->trail = std::move(carried.trail);
    arrival.past->repeat = newcomer.redelivered;
  }
  arrival.message = std::move(newcomer.message);
  queue_->add(std::move(arrival), now);
}

void Hand::advance(const Instant& now) {
  queue_->advance(now);
  for (auto& newcomer : inbox_) admit(std::move(newcomer), now.wall);
  inbox_.clear();
}

std::optional<Error> Hand::down(const char* where) const {
  if (closed_) {
    return Error{Code::unavailable, where,
                 "source \"" + source_ + "\" is closed; open it again to go on"};
  }
  if (!why_down_) return std::nullopt;
  return Error{why_down_->code, where, why_down_->detail};
}

void Hand::collect(const memory::Queue::Gone& gone, Tags& done) const {
  done.epoch = epoch_;
  for (const auto& message : gone) done.tags.push_back(tag_of(*message));
}

Result<std::vector<Delivery>> Hand::receive(const ReceiveRequest& request, Instant now,
                                            Tags& done) {
  constexpr const char* where = "rabbitmq.receive";
  if (request.lease_for < Millis{1}) return short_lease(where);
  memory::Queue::Gone gone;
  std::vector<Delivery> out;
  const auto began = Steady::now();
  const auto longest = std::clamp(request.wait, Millis{0}, Millis{std::chrono::hours{24}});
  const auto deadline = began + longest;
  const std::stop_callback stopped(request.stop, [this] {
    const std::lock_guard wake(mutex_);
    arrived_.notify_all();
  });
  std::unique_lock lock(mutex_);
  while (true) {
    if (auto error = down(where)) return *error;
    const auto woke = Steady::now();
    const auto moment = later(now, std::chrono::floor<Millis>(woke - began));
    const auto as_of = longest == Millis{0} ? now : moment;
    advance(as_of);
    queue_->claim(request, as_of, out, gone);
    const bool over = request.limit == 0 || woke >= deadline || request.stop.stop_requested();
    if (!out.empty() || over) break;
    auto until = deadline;
    if (const auto due = queue_->next_due(now); due && *due < later(now.wall, longest)) {
      until = std::min(until, began + std::max(Millis{0}, *due - now.wall));
    }
    arrived_.wait_until(lock, until);
  }
  collect(gone, done);
  return out;
}

Result<std::vector<bool>> Hand::start(std::span<const LeaseToken> leases, Instant now) {
  std::vector<bool> live(leases.size());
  const std::lock_guard lock(mutex_);
  if (closed_) return *down("rabbitmq.start");
  advance(now);
  for (std::size_t i = 0; i < leases.size(); ++i) live[i] = queue_->start(leases[i], now.wall);
  return live;
}

Result<std::vector<bool>> Hand::renew(std::span<const LeaseToken> leases, Instant now,
                                      Millis lease_for) {
  if (lease_for < Millis{1}) return short_lease("rabbitmq.renew");
  std::vector<bool> live(leases.size());
  const std::lock_guard lock(mutex_);
  if (closed_) return *down("rabbitmq.renew");
  advance(now);
  const auto until = later(now, lease_for);
  for (std::size_t i = 0; i < leases.size(); ++i) live[i] = queue_->renew(leases[i], until);
  arrived_.notify_all();
  return live;
}

Retry Hand::retry_of(const memory::Slot& slot, const Failed& failed) const {
  Retry retry;
  retry.epoch = epoch_;
  retry.message = slot.message;
  retry.carried = std::make_shared<Carried>();
  retry.carried->counters = failed.counters;
  retry.carried->due = failed.again_at;
  if (slot.first_attempt_at != memory::Slot::never) {
    retry.carried->first_attempt_at = slot.first_attempt_at;
  }
  retry.carried->previous_delay = failed.delay;
  retry.carried->last_error = failed.error;
  retry.carried->trail = failed.trail;
  return retry;
}

/// It leaves the hand: given back as it is, or to be sent again with what became of it.
void Hand::end_failed(const Settlement& settlement, const memory::Slot& slot, const Instant& now,
                      Ended& ended) {
  const auto& failed = std::get<Failed>(settlement.ending);
  const bool at_once = requeues_ && failed.again_at <= now.wall && !slot.message->id.empty();
  Retry retry = retry_of(slot, failed);
  memory::Queue::Gone left;
  queue_->settle({settlement.lease, Completed{}}, now.wall, left);
  ++not_completed_;
  retry.tag = tag_of(*retry.message);
  if (at_once) {
    ended.back.epoch = epoch_;
    ended.back.tags.push_back(retry.tag);
  } else {
    ended.retries.push_back(std::move(retry));
  }
}

Result<std::vector<SettleAnswer>> Hand::settle(std::span<const Settlement> settlements, Instant now,
                                               Ended& ended) {
  memory::Queue::Gone done;
  memory::Queue::Gone over;
  std::vector<SettleAnswer> answers(settlements.size());
  const std::lock_guard lock(mutex_);
  if (closed_) return *down("rabbitmq.settle");
  advance(now);
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    const Ending& ending = settlements[i].ending;
    const bool failed = std::holds_alternative<Failed>(ending);
    const auto* slot = failed ? queue_->leased(settlements[i].lease) : nullptr;
    if (slot == nullptr) {
      auto& to = std::holds_alternative<Completed>(ending) ? done : over;
      answers[i] = queue_->settle(settlements[i], now.wall, to);
    } else {
      end_failed(settlements[i], *slot, now, ended);
    }
  }
  collect(done, ended.done);
  collect(over, ended.over);
  arrived_.notify_all();
  return answers;
}

void Hand::put_back(const Retry& retry, const Error& why, TimePoint now) {
  const std::lock_guard lock(mutex_);
  trouble_ = "a failed message could not be sent again and waits in memory: " + why.detail;
  if (retry.epoch != epoch_ || closed_) return;  // the server has it back
  Newcomer newcomer;
  newcomer.message = std::make_shared<Tagged>(Message(*retry.message), retry.tag);
  newcomer.carried = *retry.carried;
  admit(std::move(newcomer), now);
  arrived_.notify_all();
}

void Hand::sent_again() noexcept {
  const std::lock_guard lock(mutex_);
  trouble_.clear();
}

Result<SourceStats> Hand::stats(Instant now) {
  const std::lock_guard lock(mutex_);
  if (auto error = down("rabbitmq.stats")) return *error;
  advance(now);
  auto stats = queue_->stats();
  stats.completed += past_.completed - not_completed_;
  stats.dead_lettered += past_.dead_lettered;
  stats.expired += past_.expired;
  stats.trouble = trouble_;
  return stats;
}

void Hand::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  arrived_.notify_all();
}

bool Hand::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace dlo::rabbitmq
