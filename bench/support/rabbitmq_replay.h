#pragma once

// Dead letters that go back to a queue of RabbitMQ, by a job and by the shovel plugin.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/bare_rabbitmq.h"
#include "support/rabbitmq_server.h"

#include "dlo/broker/rabbitmq/rabbit_outlet.h"
#include "dlo/jobs/job_runner.h"

namespace dlo::bench {

constexpr std::size_t body = 256;
inline const std::string queue = "dlo-bench";
inline const std::string other_queue = "dlo-bench-moved";
constexpr const char* good = "OrderPlaced";
constexpr const char* bad = "OrderRefused";

struct Setting {
  RabbitServer server;
  int messages = 50'000;
  std::string directory;
};

inline void pause() {
  std::this_thread::sleep_for(Millis{1});
}

/// Asks as seldom for either: every question is work for the server.
inline void wait_until_there(BareRabbit& peer, std::uint32_t all) {
  while (peer.ready(other_queue) < all) std::this_thread::sleep_for(Millis{5});
}

/// Moves what is in the queue to the other one. From its first message on, since the plugin takes
/// its time to begin.
inline double shovelled(const Setting& setting, testing::RabbitNode& node) {
  BareRabbit peer(setting.server);
  std::string address = setting.server.address;
  address.pop_back();  // a slash at the end is a vhost without a name, to the plugin
  node.ctl("set_parameter shovel bench '{\"src-protocol\":\"amqp091\",\"src-uri\":\"" + address +
           "\",\"src-queue\":\"" + queue + "\",\"dest-protocol\":\"amqp091\",\"dest-uri\":\"" +
           address + "\",\"dest-queue\":\"" + other_queue +
           "\",\"ack-mode\":\"on-confirm\",\"src-delete-after\":\"queue-length\"}'");
  std::uint32_t before = 0;
  while ((before = peer.ready(other_queue)) == 0) pause();
  const auto began = Steady::now();
  const auto all = static_cast<std::uint32_t>(setting.messages);
  if (before == all) {
    std::fprintf(stderr, "the shovel was done before anybody looked: more --messages\n");
    std::exit(1);
  }
  wait_until_there(peer, all);
  return (all - before) / since(began);
}

/// An office full of dead letters, sent to the other queue by a job as the server runs it.
class Replay {
 public:
  explicit Replay(const Setting& setting)
      : setting_(setting),
        scratch_(setting.directory),
        office_(must(SqliteOffice::open(scratch_.path()))),
        outlet_(setting.server, {}),
        book_(*office_),
        runner_(*office_, book_, clock_, targets()) {
    std::vector<Change> changes;
    for (int i = 0; i < setting.messages; ++i) {
      const auto number = static_cast<std::uint64_t>(i) + 1;
      auto message = std::make_shared<Message>(*message_of("", body));
      message->id = "m-" + std::to_string(i);
      message->source = queue;
      auto record = std::make_shared<DeadLetter>();
      record->id = RecordId{Id128{number * 0x9E3779B97F4A7C15ULL, number}};
      record->message = std::move(message);
      record->failure = rejection();
      record->died_at = clock_.now();
      record->fingerprint.hash = Id128{1, 1};
      changes.emplace_back(Append{std::move(record), {}});
      if (changes.size() < 1'000 && i + 1 < setting.messages) continue;
      must(office_->apply(changes));
      changes.clear();
    }
  }
  double run() {
    JobSpec spec;
    spec.replay = ReplaySpec{};
    spec.replay->target = "amqp:" + other_queue;
    spec.query = "status:pending";
    BareRabbit peer(setting_.server);
    const auto began = Steady::now();
    must(book_.plan(spec, "job", "bench", clock_.now()));
    must(book_.change("job", JobVerb::start, "bench", clock_.now()));
    runner_.wake();
    const auto all = static_cast<std::uint64_t>(setting_.messages);
    wait_until_there(peer, static_cast<std::uint32_t>(all));
    while (must(book_.progress("job")).counts.total() < all) {
      const Job job = must(book_.get("job"));
      if (job.state == JobState::running) {
        pause();
        continue;
      }
      std::fprintf(stderr, "the job ended early: %s\n", job.problem.c_str());
      std::exit(1);
    }
    const double took = since(began);
    if (must(book_.progress("job")).counts.ok != all) std::abort();
    must(book_.change("job", JobVerb::cancel, "bench", clock_.now()));  // nobody awaits outcomes
    return setting_.messages / took;
  }

 private:
  ReplayTargets targets() {
    ReplayTargets made;
    made.check = [](const std::string&) -> Result<void> { return {}; };
    made.outside.covers = [](const std::string&) { return true; };
    made.outside.check = [](const std::string&) -> Result<void> { return {}; };
    made.outside.send = [this](const std::string& target, std::span<const Publication> messages,
                               TimePoint) { return outlet_.send(target, messages); };
    return made;
  }

  const Setting& setting_;
  const SystemClock clock_;
  const Scratch scratch_;
  std::unique_ptr<SqliteOffice> office_;
  RabbitOutlet outlet_;
  JobBook book_;
  JobRunner runner_;
};

}  // namespace dlo::bench
