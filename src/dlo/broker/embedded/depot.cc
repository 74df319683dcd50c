#include "dlo/broker/embedded/depot.h"

#include <algorithm>
#include <random>
#include <utility>

#include "dlo/core/id.h"

namespace dlo::embedded {
namespace {

std::uint64_t draw() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

Depot::Depot(FileSystem& files, const EmbeddedOptions& options, std::unique_ptr<FileSystem> owned)
    : owned_files_(std::move(owned)), files_(files), options_(options) {}

Depot::~Depot() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    housekeeping_.notify_all();
    tidied_.notify_all();
  }
  if (housekeeper_.joinable()) housekeeper_.join();
}

Error Depot::refuse(const char* where, std::string detail) const {
  return {Code::invalid_argument, where, std::move(detail)};
}

Result<QueueState*> Depot::usable(std::uint16_t number, const char* where) {
  QueueState* queue = holdings_.queue(number);
  if (queue == nullptr || closed_ || doorbells_[number].closed) {
    const std::string name = queue != nullptr ? queue->options().source : std::to_string(number);
    return Error{Code::unavailable, where,
                 "queue \"" + name + "\" is closed; open it again to go on"};
  }
  return queue;
}

Error Depot::used_up(const char* where) const {
  return {
      Code::full, where,
      "the journal in " + files_.describe("") + " has used " + std::to_string(segment_) +
          " of the " + std::to_string(options_.last_segment) +
          " segments it can number, and nothing more was taken. Let consumers empty the queues, "
          "then go on in a new directory."};
}

/// The journal takes nothing more: housekeeping tells whoever wants to know.
void Depot::notice(const Error& error) {
  if (error.code != Code::unavailable || broken_ != Broken::no) return;
  broken_ = Broken::seen;
  housekeeping_.notify_one();
}

/// On a full disk what is gone is given back first, if that is anything: nobody is refused for want
/// of room that only has to be tidied.
Result<void> Depot::wait_for_room(bool essential) {
  const auto room = journal_->wait_for_room(essential);
  if (room) return room;
  {
    Lock lock(mutex_);
    notice(room.error());
    full_ = full_ || room.error().code == Code::disk_full;
    if (!full_ || !housekeeper_.joinable() || !checkpoint_due()) return room;
    tidy_if_due();
    const auto before = tidyings_;
    tidied_.wait_for(lock, Millis{1000}, [&] { return stopping_ || tidyings_ != before; });
  }
  return journal_->wait_for_room(essential);
}

Result<Placed> Depot::append(const RecordList& records) {
  if (segment_ + 1 >= options_.last_segment) return used_up("embedded.append");
  Placed placed;
  placed.where.resize(records.size());
  const auto first = journal_->append(records.all(), placed.where);
  if (!first) {
    notice(first.error());
    full_ = full_ || first.error().code == Code::disk_full;
    tidy_if_due();
    return first.error();
  }
  placed.first = *first;
  placed.last = *first + records.size() - 1;
  newest_ = placed.last;
  if (std::exchange(segment_, placed.where.back().segment) != segment_) crowded_ = is_crowded();
  for (const NewRecord& each : records.all()) {
    const auto size = each.head.size() + each.body.size() + each.tail.size() + 9;
    appended_ += size;
    untidied_ += size;
  }
  tidy_if_due();
  return placed;
}

// What is synced by now is there for everybody, in the order it was written.
void Depot::admit(std::uint64_t durable, TimePoint now) {
  std::uint16_t queue = 0;
  std::uint64_t count = 0;
  while (!arrivals_.empty() && arrivals_.front().sequence <= durable) {
    const Arrival& arrival = arrivals_.front();
    const auto its = holdings_.slots()[arrival.slot].queue;
    if (count > 0 && its != queue) ring(std::exchange(queue, its), std::exchange(count, 0));
    queue = its;
    // Not before the latest moment anybody has seen, or it would be older than it is.
    holdings_.arrive(arrival.slot, now);
    ++count;
    arrivals_.pop_front();
  }
  admitted_ = std::max(admitted_.load(), durable);
  if (count > 0) ring(queue, count);
}

void Depot::advance(const Instant& now) {
  seen_ = std::chrono::steady_clock::now();
  std::vector<Lease*> ran_out;
  holdings_.advance(now, ran_out);
  if (holdings_.clock_set_by() != clock_noted_) [[unlikely]]
    note_clock();
  mutex_.set_orderly(holdings_.is_behind());
  // If their end cannot be written they stay leased and come out again later.
  if (!ran_out.empty()) (void)end_leases(ran_out, now);
}

/// Somebody set the clock: moments of records mean something else from here on. If that cannot be
/// written now, the next call tries again.
void Depot::note_clock() {
  const auto by = holdings_.clock_set_by() - clock_noted_;
  std::string bytes;
  ByteWriter(bytes).u64(static_cast<std::uint64_t>(by.count()));
  RecordList records;
  records.add(RecordType::clock_set, std::move(bytes));
  const auto placed = append(records);
  if (!placed) return;
  clock_noted_ += by;
  last_end_ = placed->last;
}

Result<void> Depot::hand_over_ends(Lock& lock) {
  const auto last = last_end_;
  lock.unlock();
  return last == 0 ? Result<void>{} : journal_->written(last);
}

void Depot::ring(std::uint16_t queue, std::uint64_t ready) noexcept {
  Doorbell& bell = doorbells_[queue];
  if (bell.waiting == 0) return;
  if (ready == 1) {
    bell.rung.notify_one();
  } else {
    bell.rung.notify_all();
  }
}

void Depot::ring_all() noexcept {
  for (Doorbell& bell : doorbells_) {
    if (bell.waiting > 0) bell.rung.notify_all();
  }
}

Result<std::uint16_t> Depot::declare(const SourceOptions& options, bool keeps_dead) {
  if (const auto ok = check(options); !ok) return ok.error();
  std::uint64_t last = 0;
  QueueRecord record{0, keeps_dead, options};
  {
    const Lock lock(mutex_);
    std::size_t number = 0;
    while (number < holdings_.queue_count() &&
           holdings_.queue(static_cast<std::uint16_t>(number))->options().source !=
               options.source) {
      ++number;
    }
    if (number > UINT16_MAX) {
      return refuse("embedded.declare", "there are 65536 queues already; purge and reuse one");
    }
    record.number = static_cast<std::uint16_t>(number);
    std::string bytes;
    embedded::encode(record, bytes);
    if (const QueueState* known = holdings_.queue(record.number)) {
      std::string before;
      embedded::encode(known->record, before);
      doorbells_[number].closed = false;
      if (before == bytes) return record.number;
    }
    RecordList records;
    records.add(RecordType::queue, std::move(bytes));
    const auto placed = append(records);
    if (!placed) return placed.error();
    last = placed->last;
    holdings_.declare(record);
    while (doorbells_.size() <= number) doorbells_.emplace_back();
    oldest_.resize(doorbells_.size());
    ring(record.number, 2);  // keys may be free
  }
  if (const auto durable = journal_->durable(last); !durable) return durable.error();
  return record.number;
}

Result<std::uint16_t> Depot::find_queue(const std::string& name) {
  const Lock lock(mutex_);
  if (closed_) {
    return Error{Code::unavailable, "embedded.find",
                 "the queues of this directory are closed; open them again to go on"};
  }
  for (std::size_t i = 0; i < holdings_.queue_count(); ++i) {
    const auto number = static_cast<std::uint16_t>(i);
    if (holdings_.queue(number)->options().source != name) continue;
    doorbells_[i].closed = false;
    return number;
  }
  return Error{Code::not_found, "embedded.find", "There is no queue \"" + name + "\"."};
}

std::vector<std::string> Depot::names() {
  const Lock lock(mutex_);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < holdings_.queue_count(); ++i) {
    out.push_back(holdings_.queue(static_cast<std::uint16_t>(i))->options().source);
  }
  return out;
}

void Depot::close_queue(std::uint16_t queue) noexcept {
  const Lock lock(mutex_);
  doorbells_[queue].closed = true;
  doorbells_[queue].rung.notify_all();
}

Result<void> Depot::be_born() {
  if (incarnation_ == 0) {
    incarnation_ = (draw() & 0xFFFF'FFFF'FFFFU) | 1;
    RecordList records;
    std::string bytes;
    ByteWriter(bytes).u64(incarnation_);
    records.add(RecordType::born, std::move(bytes));
    const auto placed = append(records);
    if (!placed) return placed.error();
    if (const auto durable = journal_->durable(placed->last); !durable) return durable.error();
  }
  // Twelve digits: a string of that length needs no memory of its own.
  partition_ = to_string(Id128{0, incarnation_}).substr(20);
  return {};
}

Result<void> Depot::close() {
  {
    const Lock lock(mutex_);
    if (closed_) return {};
    closed_ = true;
    stopping_ = true;
    housekeeping_.notify_all();
    tidied_.notify_all();
    ring_all();
  }
  if (housekeeper_.joinable()) housekeeper_.join();
  if (journal_ == nullptr) return {};
  const auto saved = checkpoint();
  if (!saved) return saved;
  return journal_->close();
}

}  // namespace dlo::embedded
