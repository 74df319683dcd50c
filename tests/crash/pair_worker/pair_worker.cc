// A process that is made to be killed: a queue, an engine and an office, as people run them. Sends
// messages into the queue and works on them; says of each message that was acknowledged as sent, in
// sent.log, of each whose handler was content, in done.log, and of each whose completion the queue
// acknowledged, in gone.log.
//   pair_worker DIRECTORY LIFE send|drain
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <variant>
#include <vector>

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/engine/processor.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace {

using namespace dlo;

constexpr int list_size = 5;

/// Real time: whoever kills us goes by it too.
void let_pass(Millis time) {
  std::mutex own;
  std::condition_variable never;
  std::unique_lock lock(own);
  never.wait_for(lock, time);
}

/// One write call: whole, however the process ends.
void tell(int log, const std::string& lines) {
  if (::write(log, lines.data(), lines.size()) < 0) std::_Exit(4);
}

int open_log(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
}

/// What becomes of a message is in the number at the end of its id; the test knows the same rule.
Outcome handle(const Message& message, const RunContext& context, int done) {
  const std::int64_t n = std::atoll(message.id.c_str() + message.id.find('/') + 1);
  if (n % 60 == 59) std::_Exit(9);  // takes the whole process with it
  Outcome outcome;
  if (n % 10 == 8 || (n % 10 >= 6 && context.counters.attempt <= 2)) {
    outcome.kind = OutcomeKind::failed;
    outcome.failure.type = "Planned";
    outcome.failure.text = "as number " + std::to_string(n) + " must";
    return outcome;
  }
  tell(done, message.id + "\n");
  return outcome;
}

/// The queue as the engine sees it; every completion it acknowledges is told.
class Witnessed final : public Broker {
 public:
  Witnessed(Broker& queue, int log) : queue_(queue), log_(log) {}

  Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now) override {
    auto received = queue_.receive(request, now);
    if (!received) return received;
    const std::lock_guard lock(mutex_);
    for (const Delivery& each : *received) ids_[each.lease] = each.message->id;
    return received;
  }
  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant now) override {
    return queue_.start(leases, now);
  }
  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                           Instant now) override {
    auto answers = queue_.settle(settlements, now);
    if (!answers) return answers;
    std::string lines;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < settlements.size(); ++i) {
      const auto found = ids_.find(settlements[i].lease);
      if (found == ids_.end()) continue;
      if (std::holds_alternative<Completed>(settlements[i].ending) &&
          (*answers)[i].settled == Settled::done) {
        lines += found->second + "\n";
      }
      ids_.erase(found);
    }
    if (!lines.empty()) tell(log_, lines);
    return answers;
  }
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant now,
                                  Millis lease_for) override {
    return queue_.renew(leases, now, lease_for);
  }
  Result<std::vector<PublishAnswer>> publish(std::span<const Publication> messages,
                                             Instant now) override {
    return queue_.publish(messages, now);
  }
  Result<SourceStats> stats(Instant now) override { return queue_.stats(now); }
  QueueAdmin* admin() noexcept override { return queue_.admin(); }
  void close() noexcept override { queue_.close(); }

 private:
  Broker& queue_;
  const int log_;
  std::mutex mutex_;
  std::map<LeaseToken, std::string> ids_;
};

void send_for_ever(EmbeddedQueue& queue, const Clock& clock, const std::string& life, int log,
                   const std::stop_token& stop) {
  for (int n = 0; !stop.stop_requested(); n += list_size) {
    std::vector<Publication> list;
    std::string lines;
    for (int i = n; i < n + list_size; ++i) {
      auto message = std::make_shared<Message>();
      message->id = life + "/" + std::to_string(i);
      message->event_type = "test";
      message->payload = std::string(200, 'x');
      lines += message->id + "\n";
      list.push_back({.message = std::move(message)});
    }
    if (!queue.publish(list, clock.now())) std::_Exit(3);
    tell(log, lines);
    let_pass(Millis{2});  // many lives, not many messages
  }
}

std::shared_ptr<const RuleBook> hurried_rules() {
  Profile profile = find_profile("standard").value();
  profile.retry.base = Millis{1};
  profile.retry.cap = Millis{4};
  return std::make_shared<const RuleBook>(RuleBook::build(std::move(profile)).value());
}

/// Until the queue is empty. The parent kills us if that never happens.
bool drained(EmbeddedQueue& queue, const Clock& clock) {
  while (true) {
    const auto stats = queue.stats(clock.now());
    if (!stats) return false;
    if (stats->ready + stats->delayed + stats->leased + stats->held == 0) return true;
    let_pass(Millis{5});
  }
}

int work(const std::string& directory, const std::string& life, bool sending) {
  SystemClock clock;
  auto office = SqliteOffice::open(directory + "/office");
  auto queues = EmbeddedQueues::open(directory + "/queues", clock.now());
  if (!office || !queues) {
    std::cerr << (office ? queues.error().detail : office.error().detail) << "\n";
    return 1;
  }
  SourceOptions named;
  named.source = "work";
  auto queue = (*queues)->declare(named);
  if (!queue) return 1;
  HandlerTable handlers;
  handlers.set_default(std::make_shared<FunctionHandler>(
      [done = open_log(directory + "/done.log")](const Message& message, const RunContext& how) {
        return handle(message, how, done);
      }));
  ProcessorOptions options;
  options.max_concurrency = 4;
  options.lease_for = Millis{250};
  options.receive_wait = Millis{5};
  options.suspect_window = Millis{100};
  Witnessed witnessed(**queue, open_log(directory + "/gone.log"));
  Processor processor({.source = witnessed,
                       .office = **office,
                       .rules = hurried_rules(),
                       .handlers = std::move(handlers),
                       .clock = clock},
                      options);
  std::jthread worker([&](const std::stop_token& stop) { processor.run(stop); });
  if (sending) {
    std::jthread sender([&](const std::stop_token& stop) {
      send_for_ever(**queue, clock, life, open_log(directory + "/sent.log"), stop);
    });
    sender.join();
  }
  return drained(**queue, clock) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return work(argv[1], argv[2], std::string(argv[3]) == "send");
}
