#include "dlo/broker/embedded/embedded_queues.h"

#include <algorithm>
#include <utility>

#include "dlo/broker/embedded/depot.h"
#include "dlo/broker/sealing.h"

namespace dlo {
namespace {

constexpr std::uint64_t largest_segment = 128U << 20U;  // a record's number in it has 24 bits

/// Keeps the depot, which has to be there when somebody waits.
template <typename Answers, typename Written>
Pending<Answers> until_durable(std::shared_ptr<embedded::Depot> depot, Written written) {
  return Pending<Answers>([depot = std::move(depot), kept = std::move(written)]() mutable {
    return depot->made_durable(std::move(kept));
  });
}

}  // namespace

EmbeddedQueue::EmbeddedQueue(std::shared_ptr<embedded::Depot> depot, std::uint16_t number,
                             std::shared_ptr<const Sealer> sealer) noexcept
    : depot_(std::move(depot)), number_(number), sealer_(std::move(sealer)) {}
EmbeddedQueue::~EmbeddedQueue() = default;

Result<std::vector<Delivery>> EmbeddedQueue::receive(const ReceiveRequest& request, Instant now) {
  auto deliveries = depot_->receive(number_, request, now);
  if (sealer_ && deliveries) queued::open(*sealer_, *deliveries);
  return deliveries;
}

Result<std::vector<bool>> EmbeddedQueue::start(std::span<const LeaseToken> leases, Instant now) {
  return depot_->start(number_, leases, now);
}

Pending<std::vector<SettleAnswer>> EmbeddedQueue::settle_soon(
    std::span<const Settlement> settlements, Instant now) {
  std::vector<Settlement> sealed;
  if (sealer_) {
    auto done = queued::seal(*sealer_, settlements);
    if (!done) return done.error();
    sealed = std::move(*done);
    settlements = sealed;
  }
  auto ended = depot_->end(number_, settlements, now);
  if (!ended) return ended.error();
  return until_durable<std::vector<SettleAnswer>>(depot_, std::move(*ended));
}

Result<std::vector<SettleAnswer>> EmbeddedQueue::settle(std::span<const Settlement> settlements,
                                                        Instant now) {
  if (!sealer_) return depot_->settle(number_, settlements, now);
  return settle_soon(settlements, now).wait();
}

Result<std::vector<bool>> EmbeddedQueue::renew(std::span<const LeaseToken> leases, Instant now,
                                               Millis lease_for) {
  return depot_->renew(number_, leases, now, lease_for);
}

Pending<std::vector<PublishAnswer>> EmbeddedQueue::publish_soon(
    std::span<const Publication> messages, Instant now) {
  std::vector<Publication> sealed;
  if (sealer_) {
    auto done = queued::seal(*sealer_, messages);
    if (!done) return done.error();
    sealed = std::move(*done);
    messages = sealed;
  }
  auto taken = depot_->take_in(number_, messages, nullptr, now);
  if (!taken) return taken.error();
  return until_durable<std::vector<PublishAnswer>>(depot_, std::move(*taken));
}

Result<std::vector<PublishAnswer>> EmbeddedQueue::publish(std::span<const Publication> messages,
                                                          Instant now) {
  if (!sealer_) return depot_->publish(number_, messages, nullptr, now);
  return publish_soon(messages, now).wait();
}

bool EmbeddedQueue::places_at_once() {
  return depot_->places_at_once(number_);
}

void EmbeddedQueue::flush() {
  depot_->flush();
}

Result<PublishAnswer> EmbeddedQueue::publish_undecodable(std::string bytes, const Failure& why,
                                                         Instant now) {
  auto raw = std::make_shared<Message>();
  raw->payload = std::move(bytes);
  std::vector<Publication> publications(1);
  publications.front().message = std::move(raw);
  if (sealer_) {
    auto sealed = queued::seal(*sealer_, publications);
    if (!sealed) return sealed.error();
    publications = std::move(*sealed);
  }
  auto answers = depot_->publish(number_, publications, &why, now);
  if (!answers) return answers.error();
  return answers->front();
}

Result<SourceStats> EmbeddedQueue::stats(Instant now) {
  return depot_->stats(number_, now);
}

void EmbeddedQueue::close() noexcept {
  depot_->close_queue(number_);
}

Result<void> EmbeddedQueue::pause() {
  return depot_->pause(number_, true);
}

Result<void> EmbeddedQueue::resume() {
  return depot_->pause(number_, false);
}

Result<std::uint64_t> EmbeddedQueue::purge() {
  return depot_->purge(number_);
}

Result<std::vector<MessagePtr>> EmbeddedQueue::peek(std::size_t limit) {
  auto found = depot_->peek(number_, false, limit);
  if (!found) return found.error();
  std::vector<MessagePtr> out;
  for (embedded::Peeked& each : *found) {
    MessagePtr message = std::move(each.message);
    if (sealer_) {
      auto opened = queued::open(*sealer_, message);
      if (!opened) return opened.error();
      message = std::move(*opened);
    }
    out.push_back(std::move(message));
  }
  return out;
}

Result<void> EmbeddedQueue::free_key(const std::string& key) {
  return depot_->free_key(number_, key);
}

Result<std::vector<std::string>> EmbeddedQueue::held_keys(std::size_t skip, std::size_t limit) {
  return depot_->held_keys(number_, skip, limit);
}

Result<KeyHold> EmbeddedQueue::hold_on(const std::string& key) {
  return depot_->hold_on(number_, key);
}

Result<std::uint64_t> EmbeddedQueue::move_to(OwnQueue& target) {
  auto* const other = dynamic_cast<EmbeddedQueue*>(&target);
  if (other == nullptr || other->depot_ != depot_) {
    return Error{Code::invalid_argument, "embedded.move",
                 "both queues must live in one directory; nothing was moved"};
  }
  return depot_->move_all(number_, other->number_);
}

std::uint64_t EmbeddedQueue::dead() const {
  return depot_->dead(number_);
}

Result<std::vector<EmbeddedQueue::DeadMessage>> EmbeddedQueue::dead_letters(std::size_t limit) {
  auto found = depot_->peek(number_, true, limit);
  if (!found) return found.error();
  std::vector<DeadMessage> out;
  for (embedded::Peeked& each : *found) {
    MessagePtr message = std::move(each.message);
    if (sealer_) {
      auto opened = queued::open(*sealer_, message);
      if (!opened) return opened.error();
      auto error = queued::open_error(*sealer_, each.state.last_error);
      if (!error) return error.error();
      message = std::move(*opened);
      each.state.last_error = std::move(*error);
    }
    out.push_back({std::move(message), each.state.counters, std::move(each.state.last_error),
                   each.state.first_attempt_at});
  }
  return out;
}

Result<std::uint64_t> EmbeddedQueue::redrive() {
  return depot_->redrive(number_);
}

Result<std::unique_ptr<EmbeddedQueues>> EmbeddedQueues::open(const std::string& directory,
                                                             TimePoint now,
                                                             const EmbeddedOptions& options) {
  auto files = open_directory(directory);
  if (!files) return files.error();
  FileSystem& place = **files;
  return open(place, std::move(*files), now, options);
}

Result<std::unique_ptr<EmbeddedQueues>> EmbeddedQueues::open(FileSystem& files, TimePoint now,
                                                             const EmbeddedOptions& options) {
  return open(files, nullptr, now, options);
}

Result<std::unique_ptr<EmbeddedQueues>> EmbeddedQueues::open(FileSystem& files,
                                                             std::unique_ptr<FileSystem> owned,
                                                             TimePoint now,
                                                             const EmbeddedOptions& options) {
  if (options.journal.segment_size > largest_segment) {
    return Error{Code::invalid_argument, "embedded.open",
                 "segment_size is " + std::to_string(options.journal.segment_size) + "; at most " +
                     std::to_string(largest_segment) + " bytes are possible"};
  }
  std::unique_ptr<EmbeddedQueues> queues(new EmbeddedQueues);
  queues->sealer_ = options.sealer;
  queues->depot_ = std::make_shared<embedded::Depot>(files, options, std::move(owned));
  const auto opened = queues->depot_->open(now, queues->report_);
  if (!opened) return opened.error();
  return queues;
}

EmbeddedQueues::~EmbeddedQueues() {
  if (depot_) (void)depot_->close();
}

Result<std::unique_ptr<EmbeddedQueue>> EmbeddedQueues::declare(const SourceOptions& options,
                                                               bool keeps_dead) {
  const auto number = depot_->declare(options, keeps_dead);
  if (!number) return number.error();
  return std::make_unique<EmbeddedQueue>(depot_, *number, sealer_);
}

Result<std::unique_ptr<EmbeddedQueue>> EmbeddedQueues::find(const std::string& name) {
  const auto number = depot_->find_queue(name);
  if (!number) return number.error();
  return std::make_unique<EmbeddedQueue>(depot_, *number, sealer_);
}

Result<std::unique_ptr<OwnQueue>> EmbeddedQueues::make(const SourceOptions& options) {
  auto queue = declare(options);
  if (!queue) return queue.error();
  return std::unique_ptr<OwnQueue>(std::move(*queue));
}

Result<std::unique_ptr<OwnQueue>> EmbeddedQueues::existing(const std::string& name) {
  auto queue = find(name);
  if (!queue) return queue.error();
  return std::unique_ptr<OwnQueue>(std::move(*queue));
}

std::vector<std::string> EmbeddedQueues::names() const {
  return depot_->names();
}

JournalStats EmbeddedQueues::journal_stats() const {
  return depot_->journal_stats();
}

QueuesHealth EmbeddedQueues::health() const {
  return depot_->health();
}

Result<void> EmbeddedQueues::tidy() {
  return depot_->tidy();
}

Result<void> EmbeddedQueues::close() {
  return depot_->close();
}

}  // namespace dlo
