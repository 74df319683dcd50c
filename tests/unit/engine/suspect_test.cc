// Messages that were running when their process died (R7).

#include "faults.h"
#include "world.h"

#include "dlo/engine/suspects.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

/// Takes what is there and marks it started, as a process that dies now.
void start_and_die(World& world, std::size_t count) {
  const auto taken = must(world.broker.receive({count, 1h, {}}, world.clock.now()));
  std::vector<LeaseToken> leases;
  for (const Delivery& delivery : taken) leases.push_back(delivery.lease);
  must(world.broker.start(leases, world.clock.now()));
  must(world.broker.end_all_leases(world.clock.now()));
}

TEST(TrustIn, FollowsTheTable) {
  EXPECT_EQ(trust_in(false, false), Trust::full);
  EXPECT_EQ(trust_in(false, true), Trust::full);
  EXPECT_EQ(trust_in(true, false), Trust::alone);
  EXPECT_EQ(trust_in(true, true), Trust::none);
}

TEST(TrustIn, AMessageWithoutANameIsKnownByItsInterruptions) {
  EXPECT_EQ(trust_in_nameless(0), Trust::full);
  EXPECT_EQ(trust_in_nameless(1), Trust::alone);
  EXPECT_EQ(trust_in_nameless(2), Trust::alone);
  EXPECT_EQ(trust_in_nameless(3), Trust::none);
}

TEST(Suspect, RunsOneAtATimeBeforeNewWork) {
  World world;
  world.options.max_concurrency = 4;
  std::mutex mutex;
  std::vector<std::string> order;
  std::atomic<int> inside{0};
  std::atomic<int> beside_a_suspect{0};
  world.on_every([&](const Message& message, const RunContext&) {
    ++inside;
    if (message.id.starts_with("old") && inside > 1) ++beside_a_suspect;
    {
      const std::lock_guard lock(mutex);
      order.push_back(message.id);
    }
    --inside;
    return ok();
  });
  for (int i = 0; i < 5; ++i) world.publish("old-" + std::to_string(i));
  start_and_die(world, 5);
  for (int i = 0; i < 50; ++i) world.publish("new-" + std::to_string(i));

  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return processor->stats().succeeded == 55; }));
  EXPECT_EQ(beside_a_suspect, 0);
  EXPECT_EQ(processor->stats().suspects, 5U);
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(order[i].starts_with("old")) << order[i];
}

TEST(Suspect, HasTheProcessToItselfOnlyForAWhile) {
  World world;
  std::atomic<bool> release{false};
  std::atomic<bool> begun{false};
  world.on_every([&](const Message& message, const RunContext&) {
    if (message.id == "slow") {
      begun = true;
      while (!release) std::this_thread::yield();
    }
    return ok();
  });
  world.publish("slow");
  start_and_die(world, 1);
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  world.publish_many(10);
  ASSERT_TRUE(eventually([&] { return processor->stats().in_flight > 1; }));
  EXPECT_EQ(processor->stats().succeeded, 0U);
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return processor->stats().succeeded == 10; }));
  EXPECT_GE(world.clock.now(), noon + world.options.suspect_window);
  release = true;
  ASSERT_TRUE(eventually([&] { return processor->stats().succeeded == 11; }));
}

TEST(Suspect, DoesNotWaitForASlowNeighbourForEver) {
  World world;
  std::atomic<bool> release{false};
  std::atomic<bool> begun{false};
  world.on_every([&](const Message& message, const RunContext&) {
    if (message.id == "slow") {
      begun = true;
      while (!release) std::this_thread::yield();
    }
    return ok();
  });
  world.publish("slow");
  auto processor = world.processor();
  Running running(*processor);
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  world.publish("old");
  // Somebody else took it, started it and died.
  bool cut_off = false;
  const auto taken = must(world.broker.receive({1, 1s, {}}, world.clock.now()));
  if (!taken.empty()) {
    must(world.broker.start(std::vector{taken[0].lease}, world.clock.now()));
    cut_off = true;
  }
  ASSERT_TRUE(eventually(world.clock, 1s, [&] { return processor->stats().succeeded == 1; }));
  EXPECT_EQ(processor->stats().suspects, cut_off ? 1U : 0U);
  release = true;
}

/// The office's note that a message ran alone, left by a process that is no more.
void leave_note(World& world, const Message& message) {
  Suspects dead(world.office, "node-1/an earlier process");
  Item item;
  item.delivery.message = std::make_shared<Message>(message);
  must(dead.mark(item, world.clock.now() + 10s));
}

TEST(Suspect, ThatKillsItsProcessAgainWhileAloneIsQuarantined) {
  World world;
  world.rules = rules_of("standard");
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    return ok();
  });
  const auto killer = world.publish("killer");
  world.publish("neighbour");
  start_and_die(world, 1);
  leave_note(world, *killer);
  start_and_die(world, 1);
  auto processor = world.processor();
  processor->drain();

  EXPECT_EQ(runs, 1) << "only the neighbour";
  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.message->id, "killer");
  EXPECT_EQ(record.reason, "crash");
  EXPECT_EQ(record.status, Status::quarantined);
  EXPECT_EQ(record.failure.type, "Crash");
}

TEST(Suspect, IsNotBlamedForAStopOrALeaseThatOurOwnProcessLost) {
  World world;
  world.rules = rules_of("standard");
  world.options.lease_for = 30s;
  int runs = 0;
  bool lose_lease = true;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    if (std::exchange(lose_lease, false)) {
      world.clock.advance(1min);  // too slow: nobody renewed meanwhile
    }
    return ok();
  });
  world.publish("slow");
  start_and_die(world, 1);
  auto processor = world.processor();
  for (int i = 0; i < 3; ++i) processor->drain();

  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(world.records().empty());
  EXPECT_EQ(world.source_stats().completed, 1U);
}

TEST(Suspect, LeavesNoNoteBehindWhenItEndsWell) {
  World world;
  world.on_every([&](const Message& message, const RunContext&) {
    const auto notes = must(world.office.extras().ledger->documents(Suspects::kind, "", 10));
    EXPECT_EQ(notes.size(), message.id == "old" ? 1U : 0U) << "durable before it runs";
    return message.id == "old" ? ok() : failed("E", "forbidden");
  });
  world.publish("old");
  start_and_die(world, 1);
  world.publish("new");
  world.processor()->drain();
  EXPECT_TRUE(must(world.office.extras().ledger->documents(Suspects::kind, "", 10)).empty());
}

TEST(Suspect, ACrashLoopAmongOthersEndsByTheLimit) {  // D5: crashes count where the profile says so
  World world;
  world.rules = rules_of("standard");
  int runs = 0;
  world.on_every([&](const Message&, const RunContext&) {
    ++runs;
    return ok();
  });
  world.publish("kills everything around it");
  for (int i = 0; i < 5; ++i) start_and_die(world, 1);
  world.processor()->drain();
  EXPECT_EQ(runs, 0);
  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.reason, "MaxAttemptsExceeded");
  EXPECT_EQ(record.counters.attempt, 5U);
}

TEST(Suspect, TheErrorBeforeTheCrashIsKept) {  // I9
  World world;
  world.rules = rules_of("service-bus");
  world.publish("m");
  // One failure, then two deliveries that end in a crash.
  world.on_every([&](const Message&, const RunContext&) {
    must(world.broker.pause());
    return failed("IoError", "disk is slow");
  });
  auto processor = world.processor();
  processor->drain();
  must(world.broker.resume());
  start_and_die(world, 1);
  start_and_die(world, 1);
  processor->drain();
  const DeadLetter record = world.only_record();
  EXPECT_EQ(record.reason, "PoisonMessage");
  EXPECT_EQ(record.failure.type, "IoError");
  EXPECT_EQ(record.failure.text, "disk is slow");
}

}  // namespace
}  // namespace dlo::testing
