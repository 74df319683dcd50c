// A process that is made to be killed. Sends messages into an office, works on what waits there,
// and says of each message that was acknowledged as sent, in sent.log.
//   crash_worker DIRECTORY LIFE send|drain
#include <condition_variable>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

#include "dlo/core/identity.h"
#include "dlo/engine/office_source.h"
#include "dlo/engine/processor.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace {

using namespace dlo;

constexpr Millis short_lease{250};
constexpr int list_size = 5;

DeadLetter message_to_send(std::int64_t life, std::int64_t n, TimePoint now) {
  Message message;
  message.id = std::to_string(life) + "/" + std::to_string(n);
  message.source = "work";
  message.position = Position{std::to_string(life), n};
  message.event_type = "test";
  message.payload = std::string(200, 'x');
  message.enqueued_at = now;
  DeadLetter record;
  record.id = identify(message);
  record.message = std::make_shared<const Message>(std::move(message));
  record.profile = "standard";
  record.status = Status::waiting;
  record.died_at = now;
  record.next_retry_at = now;
  return record;
}

/// What becomes of a message is in its number; the test knows the same rule.
Outcome handle(const Message& message, const RunContext& context) {
  const std::int64_t n = message.position->offset;
  if (n % 50 == 49) std::_Exit(9);  // takes the whole process with it
  const bool fails = n % 10 == 8 || (n % 10 >= 6 && context.counters.attempt <= 2);
  Outcome outcome;
  if (!fails) return outcome;
  outcome.kind = OutcomeKind::failed;
  outcome.failure.type = "Planned";
  outcome.failure.text = "as number " + std::to_string(n) + " must";
  return outcome;
}

/// Says that something ended, for whoever waits until everything has.
class Ends final : public EngineEvents {
 public:
  void succeeded(const Message& /*message*/, const Counters& /*counters*/,
                 Millis /*took*/) override {
    ended_.notify_all();
  }
  void dead_lettered(const DeadLetter& /*record*/) override { ended_.notify_all(); }
  /// The next end, or a while: settling comes a little after an end.
  void wait() {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, Millis{10});
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
};

/// Waits until nothing is on its way any more. The parent kills us if that never happens.
bool drained(Office& office, Ends& ends) {
  while (true) {
    const auto numbers = office.aggregate({});
    if (!numbers) return false;
    std::uint64_t live = 0;
    for (const Tally& tally : numbers->tallies) {
      if (is_live(tally.status) || carries_lease(tally.status)) live += tally.count;
    }
    if (live == 0) return true;
    ends.wait();
  }
}

void send_for_ever(Office& office, const Clock& clock, std::int64_t life, int log,
                   const std::stop_token& stop) {
  for (std::int64_t n = 0; !stop.stop_requested(); n += list_size) {
    std::vector<Change> list;
    std::string lines;
    for (std::int64_t i = n; i < n + list_size; ++i) {
      DeadLetter record = message_to_send(life, i, clock.now());
      lines += to_string(record.id) + " " + std::to_string(i) + "\n";
      list.emplace_back(Append{std::make_shared<const DeadLetter>(std::move(record)), {}});
    }
    if (!office.apply(list)) std::_Exit(3);
    if (::write(log, lines.data(), lines.size()) < 0) std::_Exit(4);
  }
}

RuleBook hurried_rules() {
  Profile profile = find_profile("standard").value();
  profile.retry.base = Millis{1};
  profile.retry.cap = Millis{4};
  return std::move(RuleBook::build(std::move(profile)).value());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string directory = argv[1];
  const std::int64_t life = std::atoll(argv[2]);
  const bool sending = std::string(argv[3]) == "send";
  auto office = SqliteOffice::open(directory);
  if (!office) {
    std::cerr << office.error().detail << "\n";
    return 1;
  }
  const int log = ::open((directory + "/sent.log").c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
  SystemClock clock;
  OfficeSource source(**office, "work");
  Ends ends;
  HandlerTable handlers;
  handlers.set_default(std::make_shared<FunctionHandler>(handle));
  ProcessorOptions options;
  options.max_concurrency = 4;
  options.lease_for = short_lease;
  options.receive_wait = Millis{5};
  options.suspect_window = Millis{100};
  Processor processor({.source = source,
                       .office = **office,
                       .rules = std::make_shared<const RuleBook>(hurried_rules()),
                       .handlers = std::move(handlers),
                       .clock = clock,
                       .events = &ends,
                       .writer = &source},
                      options);
  std::jthread worker([&](const std::stop_token& stop) { processor.run(stop); });
  if (sending) {
    std::jthread sender(
        [&](const std::stop_token& stop) { send_for_ever(**office, clock, life, log, stop); });
    sender.join();
  }
  return drained(**office, ends) ? 0 : 1;
}
