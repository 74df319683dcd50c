#include "dlo/consumer/queue_consumer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "dlo/consumer/writers.h"
#include "dlo/engine/office_behind.h"
#include "dlo/engine/office_source.h"
#include "dlo/engine/processor.h"

namespace dlo {
namespace {

constexpr Millis look_for{500};
constexpr std::size_t owed_page = 1'000;
constexpr std::size_t owed_batch = 100;
constexpr Millis first_rest{200};
constexpr Millis longest_rest{5'000};
/// The timer says when to look, and a stop ends the wait.
constexpr Millis wait_for_timer = std::chrono::hours{1};

ProcessorOptions processor_options(const ConsumerOptions& options, Millis receive_wait) {
  ProcessorOptions chosen;
  chosen.origin = options.origin;
  chosen.max_concurrency = options.at_once;
  chosen.lease_for = options.lease_for;
  chosen.receive_wait = receive_wait;
  chosen.handler_timeout = options.timeout;
  chosen.grace = options.grace;
  chosen.seed = options.seed;
  return chosen;
}

/// The engine has to know what its source will not go beyond: deaths that wait for company keep it
/// from handing out more.
ProcessorOptions source_options(const ConsumerOptions& options) {
  ProcessorOptions chosen = processor_options(options, look_for);
  if (options.in_flight > 0) chosen.max_in_flight = options.in_flight;
  return chosen;
}

void add(ConsumerStatus& to, const ProcessorStats& stats) {
  to.succeeded += stats.succeeded;
  to.retried += stats.retried;
  to.dead += stats.dead;
  to.repeated += stats.repeated;
  to.dropped += stats.dropped;
  to.in_flight += stats.in_flight;
}

}  // namespace

std::string_view name_of(ConsumerState state) noexcept {
  switch (state) {
    case ConsumerState::starting:
      return "starting";
    case ConsumerState::working:
      return "working";
    case ConsumerState::paused:
      return "paused";
    case ConsumerState::broker_down:
      return "broker_down";
    case ConsumerState::office_down:
      return "office_down";
    case ConsumerState::copies_refused:
      return "copies_refused";
    case ConsumerState::stopped:
      return "stopped";
  }
  return "stopped";
}

/// The queue and what waits in the office, each with a processor. All share handlers and rules.
struct QueueConsumer::Lines {
  Lines(QueueConsumer& of, std::unique_ptr<Broker> opened)
      : broker(std::move(opened)),
        writer(of.parts_.office, of.options_.origin.node, [&of] { return of.rules(); }),
        waiting(of.parts_.office, {ClaimFrom(of.options_.source),
                                   {},
                                   [&of](const DeadLetter&) { return of.rules(); },
                                   &of.parts_.timer}),
        waiting_writer(waiting, of.copies_.get()),
        at_source(
            of.troubles_, of.parts_.log, [&of] { return of.rules(); }, false, of.parts_.done),
        at_office(of.troubles_, of.parts_.log, [&of] { return of.rules(); }, true, of.parts_.done) {
    if (of.copies_ != nullptr) {
      at_death.emplace(*of.copies_);
      owed.emplace(*of.copies_, of.parts_.office);
    }
    const Parts& parts = of.parts_;
    DeathListener* const first = at_death ? &*at_death : nullptr;
    DeathListener* const second = owed ? &*owed : nullptr;
    source_line = std::make_unique<Processor>(
        ProcessorParts{*broker, parts.office, of.rules(), parts.handlers, parts.clock,
                       parts.validators, &at_source, first, &writer},
        source_options(of.options_));
    office_line = std::make_unique<Processor>(
        ProcessorParts{waiting, parts.office, of.rules(), parts.handlers, parts.clock,
                       parts.validators, &at_office, second, &waiting_writer},
        processor_options(of.options_, wait_for_timer));
  }

  void start() {
    running_source = std::thread([this] { source_line->run(std::stop_token{}); });
    running_office = std::thread([this] { office_line->run(std::stop_token{}); });
  }
  void stop(Millis grace) {
    std::thread other([&] { office_line->stop(grace); });
    source_line->stop(grace);
    other.join();
    running_source.join();
    running_office.join();
    broker->close();  // politely: what was acknowledged is read by the other side first
  }

  std::unique_ptr<Broker> broker;
  consumer::SourceWriter writer;
  OfficeSource waiting;
  consumer::WaitingWriter waiting_writer;
  consumer::LineEvents at_source;
  consumer::LineEvents at_office;
  std::optional<CopyAtDeath> at_death;
  std::optional<CopyOwed> owed;
  std::unique_ptr<Processor> source_line;
  std::unique_ptr<Processor> office_line;
  std::thread running_source;
  std::thread running_office;
};

QueueConsumer::QueueConsumer(ConsumerOptions options, Parts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      troubles_([this] { changed(); }),
      rules_(parts_.rules) {
  if (!parts_.copies) return;
  copies_ = std::make_unique<DeadLetterCopies>(
      parts_.copies, parts_.form, options_.source,
      [this](const std::optional<Error>& trouble) { troubles_.copies(trouble); });
}

QueueConsumer::~QueueConsumer() {
  stop();
}

Result<void> QueueConsumer::start(bool paused) {
  auto owed = all_owed();
  if (!owed) return owed.error();
  wants_pause_ = paused;
  thread_ = std::thread([this] { run(); });
  const std::lock_guard lock(owing_mutex_);
  begin_sending(std::move(*owed));
  return {};
}

Result<std::vector<RecordId>> QueueConsumer::all_owed() const {
  std::vector<RecordId> all;
  std::string after;
  while (copies_ != nullptr) {
    const auto page = copies_->find_owed(parts_.office, after, owed_page);
    if (!page) return page.error();
    if (page->empty()) break;
    after = to_string(page->back());
    all.insert(all.end(), page->begin(), page->end());
  }
  return all;
}

void QueueConsumer::begin_sending(std::vector<RecordId> owed) {
  if (owed.empty()) return;
  owed_ = std::move(owed);
  sending_owed_.store(true);
  owing_ = std::jthread([this](const std::stop_token& stop) {
    send_owed(stop);
    sending_owed_.store(false);
  });
}

void QueueConsumer::look_for_owed() {
  const std::lock_guard lock(owing_mutex_);
  if (sending_owed_.load() || stopped_owing_) return;
  const auto found = all_owed();
  if (!found) return;
  std::set<RecordId> now(found->begin(), found->end());
  std::vector<RecordId> left;
  for (const RecordId& each : seen_owed_) {
    if (now.contains(each)) left.push_back(each);
  }
  seen_owed_ = std::move(now);
  begin_sending(std::move(left));
}

void QueueConsumer::ask_to_stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  moved_.notify_all();
}

void QueueConsumer::stop() {
  ask_to_stop();
  {
    const std::lock_guard lock(owing_mutex_);
    stopped_owing_ = true;
  }
  if (owing_.joinable()) {
    owing_.request_stop();
    owing_.join();
  }
  if (thread_.joinable()) thread_.join();
}

void QueueConsumer::pause(bool paused) {
  const std::lock_guard lock(mutex_);
  wants_pause_ = paused;
  moved_.notify_all();
}

void QueueConsumer::use(std::shared_ptr<const RuleBook> rules) {
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
}

std::shared_ptr<const RuleBook> QueueConsumer::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

/// Opens and closes its lines as it is wanted: whoever asks for that need not wait for it.
void QueueConsumer::run() {
  std::unique_lock lock(mutex_);
  Millis rest = first_rest;
  while (true) {
    const auto wanted = [this] { return !stopping_ && !wants_pause_; };
    const bool want = wanted();
    if (want != running_) {
      running_ = want;
      lock.unlock();
      const bool done = want ? open_lines() : close_lines();
      changed();
      lock.lock();
      if (done) {
        rest = first_rest;
        continue;
      }
      running_ = false;  // in vain: by and by again, or not at all if nobody wants it any more
      moved_.wait_for(lock, rest, [&] { return !wanted(); });
      rest = std::min(rest * 2, longest_rest);
      if (!wanted()) open_error_.reset();
      continue;
    }
    if (stopping_) return;
    moved_.wait(lock);
  }
}

bool QueueConsumer::open_lines() {
  auto broker = parts_.open();
  if (!broker) {
    const std::lock_guard lock(mutex_);
    open_error_ = broker.error();
    return false;
  }
  auto lines = std::make_shared<Lines>(*this, std::move(*broker));
  lines->start();
  const std::lock_guard lock(mutex_);
  open_error_.reset();
  lines_ = std::move(lines);
  return true;
}

bool QueueConsumer::close_lines() {
  std::shared_ptr<Lines> lines;
  {
    const std::lock_guard lock(mutex_);
    lines = lines_;
  }
  if (lines == nullptr) return true;
  lines->stop(options_.grace);
  const ProcessorStats source = lines->source_line->stats();
  const ProcessorStats office = lines->office_line->stats();
  {
    const std::lock_guard lock(mutex_);
    add(past_, source);
    add(past_, office);
    past_.received += source.received;
    past_.in_flight = 0;
    lines_.reset();
  }
  troubles_.clear();
  return true;
}

/// Of deaths before this start whose copy nobody saw confirmed.
void QueueConsumer::send_owed(const std::stop_token& stop) {
  std::mutex own;
  std::condition_variable_any never;
  Millis rest = first_rest;
  while (!owed_.empty() && !stop.stop_requested()) {
    const std::size_t count = std::min(owed_.size(), owed_batch);
    std::vector<DeadLetter> found;
    std::vector<Change> changes;
    bool office_answers = true;
    for (std::size_t i = 0; i < count; ++i) {
      auto detail = parts_.office.get(owed_[i]);
      if (detail) found.push_back(std::move(detail->record));
      const bool gone = !detail && detail.error().code == Code::not_found;
      if (gone) changes.emplace_back(copies_->sent(owed_[i]));
      office_answers = office_answers && (detail || gone);
    }
    std::vector<const DeadLetter*> records;
    for (const DeadLetter& each : found) records.push_back(&each);
    bool all = office_answers;
    if (all && !records.empty()) {
      const auto answers = copies_->send(records);
      for (std::size_t i = 0; i < records.size(); ++i) {
        if (answers[i]) changes.emplace_back(copies_->sent(records[i]->id));
        all = all && answers[i].has_value();
      }
    }
    if (!changes.empty()) all = parts_.office.apply(changes).has_value() && all;
    if (all) {
      owed_.erase(owed_.begin(), owed_.begin() + static_cast<std::ptrdiff_t>(count));
      rest = first_rest;
      continue;
    }
    std::unique_lock lock(own);
    never.wait_for(lock, stop, rest, [] { return false; });
    rest = std::min(rest * 2, longest_rest);
  }
}

/// Under the lock.
ConsumerState QueueConsumer::state_now(const consumer::Troubles::Seen& seen) const {
  if (stopping_ && !running_ && lines_ == nullptr) return ConsumerState::stopped;
  if (open_error_) {
    return is_office_behind_source(*open_error_) ? ConsumerState::office_down
                                                 : ConsumerState::broker_down;
  }
  if (lines_ == nullptr) return wants_pause_ ? ConsumerState::paused : ConsumerState::starting;
  if (seen.office) return ConsumerState::office_down;
  if (seen.broker) return ConsumerState::broker_down;
  return seen.copies ? ConsumerState::copies_refused : ConsumerState::working;
}

ConsumerStatus QueueConsumer::standing() const {
  const auto seen = troubles_.seen();
  const std::lock_guard lock(mutex_);
  ConsumerStatus now = past_;
  now.paused = wants_pause_;
  now.state = state_now(seen);
  if (open_error_) now.trouble = open_error_->detail;
  for (const auto* each : {&seen.office, &seen.broker, &seen.copies}) {
    if (now.trouble.empty() && *each) now.trouble = (*each)->detail;
  }
  return now;
}

ConsumerStatus QueueConsumer::status() const {
  std::shared_ptr<Lines> lines;
  {
    const std::lock_guard lock(mutex_);
    lines = lines_;
  }
  ConsumerStatus now = standing();
  if (lines == nullptr) return now;
  const ProcessorStats source = lines->source_line->stats();
  add(now, source);
  add(now, lines->office_line->stats());
  now.received += source.received;
  if (now.trouble.empty()) now.trouble = source.intake_stopped_because;
  return now;
}

/// Called from within a processor: its numbers cannot be asked for here.
void QueueConsumer::changed() {
  if (!parts_.told) return;
  const ConsumerStatus now = standing();
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(told_, now.state) == now.state) return;
  }
  parts_.told(now);
}

}  // namespace dlo
