#include "dlo/broker/memory/memory_broker.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "dlo/broker/moments.h"
#include "dlo/core/id.h"

namespace dlo {
namespace {

using Steady = std::chrono::steady_clock;

std::uint64_t draw() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) ^ device();
}

/// Twelve digits: a string of that length needs no memory of its own.
std::string name_of(std::uint64_t incarnation) {
  return to_string(Id128{0, incarnation & 0xFFFF'FFFF'FFFFU}).substr(20);
}

Error refuse(const char* where, std::string detail) {
  return {Code::invalid_argument, where, std::move(detail)};
}

}  // namespace

std::uint64_t content_size(const Message& message) noexcept {
  auto size = message.id.size() + message.source.size() + message.event_type.size() +
              message.key.size() + message.correlation_id.size() + message.content_type.size();
  for (const auto& header : message.headers) size += header.name.size() + header.value.size();
  return size + (message.payload ? message.payload->size() : 0);
}

MemoryBroker::MemoryBroker(SourceOptions options, std::uint32_t epoch)
    : options_(std::move(options)),
      partition_(name_of(epoch != 0 ? epoch : draw())),
      dedupe_(options_.dedupe_window),
      queue_(options_) {
  queue_.set_epoch(epoch != 0 ? epoch : static_cast<std::uint32_t>(draw()));
}

MemoryBroker::~MemoryBroker() = default;

Error MemoryBroker::closed(const char* where) const {
  return {Code::unavailable, where,
          "source \"" + options_.source + "\" is closed; open it again to go on"};
}

Result<std::vector<Delivery>> MemoryBroker::receive(const ReceiveRequest& request, Instant now) {
  if (request.lease_for < Millis{1}) {
    return refuse("memory.receive",
                  "lease_for must be at least 1 ms, or the lease is over before "
                  "it is answered; nothing was leased");
  }
  memory::Queue::Gone gone;
  std::vector<Delivery> out;
  std::unique_lock lock(mutex_);
  if (closed_) return closed("memory.receive");
  queue_.claim(request, now, out, gone);
  // Whoever waits must know of the deadlines this one leaves behind.
  if (!out.empty() && waiting_ > 0) arrived_.notify_one();
  const bool waits = request.wait > Millis{0} && request.limit > 0 && !request.expired_only;
  if (!out.empty() || !waits) return out;

  const auto began = Steady::now();
  const auto longest = std::min(request.wait, Millis{std::chrono::hours{24}});
  const auto deadline = began + longest;
  ++waiting_;
  while (true) {
    auto until = deadline;
    if (const auto due = queue_.next_due(now); due && *due < later(now.wall, longest)) {
      until = std::min(until, began + std::max(Millis{0}, *due - now.wall));
    }
    arrived_.wait_until(lock, until);
    if (closed_) break;
    const auto woke = Steady::now();
    const auto waited = std::chrono::floor<Millis>(woke - began);
    queue_.claim(request, later(now, waited), out, gone);
    if (!out.empty() || woke >= deadline) break;
  }
  --waiting_;
  if (closed_) return closed("memory.receive");
  if (waiting_ > 0) arrived_.notify_one();
  return out;
}

Result<std::vector<bool>> MemoryBroker::start(std::span<const LeaseToken> leases, Instant now) {
  std::vector<bool> live(leases.size());
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.start");
  queue_.advance(now);
  for (std::size_t i = 0; i < leases.size(); ++i) live[i] = queue_.start(leases[i], now.wall);
  return live;
}

Result<std::vector<SettleAnswer>> MemoryBroker::settle(std::span<const Settlement> settlements,
                                                       Instant now) {
  memory::Queue::Gone gone;
  gone.reserve(settlements.size());
  std::vector<SettleAnswer> answers(settlements.size());
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.settle");
  queue_.advance(now);
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    answers[i] = queue_.settle(settlements[i], now.wall, gone);
  }
  wake(settlements.size(), true);
  return answers;
}

Result<std::vector<bool>> MemoryBroker::renew(std::span<const LeaseToken> leases, Instant now,
                                              Millis lease_for) {
  if (lease_for < Millis{1}) {
    return refuse("memory.renew", "lease_for must be at least 1 ms; no lease was changed");
  }
  std::vector<bool> live(leases.size());
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.renew");
  queue_.advance(now);
  const auto until = later(now, lease_for);
  for (std::size_t i = 0; i < leases.size(); ++i) live[i] = queue_.renew(leases[i], until);
  wake(0, true);
  return live;
}

MessagePtr MemoryBroker::stamp(const Message& message, std::int64_t offset, TimePoint now) const {
  auto stamped = std::make_shared<Message>(message);
  if (!options_.source.empty()) stamped->source = options_.source;
  stamped->position = Position{partition_, offset};
  if (stamped->enqueued_at == TimePoint{}) stamped->enqueued_at = now;
  if (options_.ttl && !stamped->expires_at) stamped->expires_at = later(now, *options_.ttl);
  return stamped;
}

PublishAnswer MemoryBroker::prepare(const Publication& publication, const Instant& now,
                                    Arrivals& arrivals) {
  const auto offset = next_offset_ + static_cast<std::int64_t>(arrivals.size());
  if (dedupe_.on() && !publication.dedupe_id.empty()) {
    if (const auto* first = dedupe_.find(publication.dedupe_id)) {
      return {true, Position{partition_, *first}};
    }
    dedupe_.remember(publication.dedupe_id, offset, now.steady);
  }
  memory::Arrival arrival;
  arrival.message = stamp(*publication.message, offset, now.wall);
  arrival.due = later(now.wall, publication.delay);
  arrival.counters = publication.counters;
  arrival.bytes = content_size(*arrival.message);
  arrival.past_hold = publication.past_hold;
  arrivals.push_back(std::move(arrival));
  return {false, Position{partition_, offset}};
}

Result<std::vector<PublishAnswer>> MemoryBroker::publish(std::span<const Publication> messages,
                                                         Instant now) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].message == nullptr) {
      return refuse("memory.publish", "publication " + std::to_string(i) + " of " +
                                          std::to_string(messages.size()) +
                                          " holds no message; nothing of the batch was taken");
    }
  }
  const std::lock_guard lock(intake_);
  if (dedupe_.on()) dedupe_.forget_old(now.steady);
  std::size_t remembered = 0;
  std::vector<PublishAnswer> answers;
  answers.reserve(messages.size());
  Arrivals arrivals;
  arrivals.reserve(messages.size());
  for (const auto& publication : messages) {
    answers.push_back(prepare(publication, now, arrivals));
    remembered += dedupe_.on() && !publication.dedupe_id.empty() && !answers.back().duplicate;
  }
  if (auto admitted = admit(arrivals, now); !admitted) {
    dedupe_.forget_newest(remembered);
    return admitted.error();
  }
  next_offset_ += static_cast<std::int64_t>(arrivals.size());
  return answers;
}

Result<PublishAnswer> MemoryBroker::publish_undecodable(std::string bytes, Failure why,
                                                        Instant now) {
  Message raw;
  raw.payload = std::move(bytes);
  const std::lock_guard lock(intake_);
  memory::Arrival arrival;
  arrival.message = stamp(raw, next_offset_, now.wall);
  arrival.due = now.wall;
  arrival.bytes = content_size(*arrival.message);
  arrival.undecodable = std::make_shared<const Failure>(std::move(why));
  Arrivals arrivals;
  arrivals.push_back(std::move(arrival));
  if (auto admitted = admit(arrivals, now); !admitted) return admitted.error();
  return PublishAnswer{false, Position{partition_, next_offset_++}};
}

Result<std::uint64_t> MemoryBroker::end_all_leases(Instant now) {
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.end_all_leases");
  queue_.advance(now);
  const auto ended = queue_.end_all_leases(now.wall);
  wake(ended, true);
  return ended;
}

// All of `arrivals` or none.
Result<void> MemoryBroker::admit(Arrivals& arrivals, const Instant& now) {
  std::uint64_t bytes = 0;
  bool delayed = false;
  for (const auto& arrival : arrivals) {
    bytes += arrival.bytes;
    delayed = delayed || arrival.due > now.wall;
  }
  memory::Queue::Gone gone;
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.publish");
  queue_.advance(now);
  const auto room = [&] {
    const Load here{queue_.messages(), queue_.bytes()};
    return check_room(options_, here, {arrivals.size(), bytes}, "memory.publish");
  };
  if (!room()) queue_.drop_expired(now.wall, gone);
  if (const auto left = room(); !left) return left;
  const auto count = arrivals.size();
  for (auto& arrival : arrivals) queue_.add(std::move(arrival), now.wall);
  wake(count, delayed);
  return {};
}

Result<SourceStats> MemoryBroker::stats(Instant now) {
  memory::Queue::Gone gone;
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.stats");
  queue_.advance(now);
  queue_.drop_expired(now.wall, gone);
  return queue_.stats();
}

void MemoryBroker::wake(std::uint64_t ready, bool timers_changed) noexcept {
  if (waiting_ == 0) return;
  if (ready == 1 && !timers_changed) {
    arrived_.notify_one();
  } else {
    arrived_.notify_all();
  }
}

void MemoryBroker::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  arrived_.notify_all();
}

Result<void> MemoryBroker::pause() {
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.pause");
  queue_.pause(true);
  return {};
}

Result<void> MemoryBroker::resume() {
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.resume");
  queue_.pause(false);
  wake(0, true);
  return {};
}

Result<std::uint64_t> MemoryBroker::purge() {
  memory::Queue::Gone gone;
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.purge");
  return queue_.purge(gone);
}

Result<std::vector<MessagePtr>> MemoryBroker::peek(std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.peek");
  return queue_.peek(limit);
}

Result<void> MemoryBroker::free_key(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.free_key");
  queue_.free_key(key);
  wake(0, true);
  return {};
}

Result<std::vector<std::string>> MemoryBroker::held_keys(std::size_t skip, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.held_keys");
  return queue_.held_keys(skip, limit);
}

Result<KeyHold> MemoryBroker::hold_on(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (closed_) return closed("memory.hold_on");
  return queue_.hold_on(key);
}

}  // namespace dlo
