// Nothing that was acknowledged is lost, whatever the disk does. Random work on a disk that loses
// its power at random moments, and on one that fails.
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "support/eventually.h"
#include "support/small_disk.h"
#include "unit/embedded/shop.h"

namespace dlo::testing {
namespace {

/// What a caller was told about one message.
struct Known {
  bool acknowledged = false;  // its publication
  bool gone = false;          // its completion was acknowledged
  bool maybe_gone = false;    // a completion was asked for and failed: either is right
  std::uint32_t failures = 0;
};

/// Does random work and keeps the books a caller would keep.
class Worker {
 public:
  Worker(Shop& shop, std::uint64_t seed) : shop_(shop), random_(seed) {}

  void work(int steps) {
    for (int i = 0; i < steps; ++i) {
      now_ += Millis{below(50)};
      const int what = below(100);
      if (what < 45) publish();
      if (what >= 45 && what < 90) serve();
      if (what >= 90 && what < 94) (void)shop_.queues->tidy();
      if (what == 94 && holding_.empty()) (void)shop_.queue->pause();
      if (what >= 95) (void)shop_.queue->resume();
    }
    holding_.clear();
  }

  /// Compares what is there with the books. Everything waits by then.
  std::string audit() {
    must(shop_.queue->resume());
    now_ += 24h;
    must(shop_.queue->stats(now_));  // every lease and every delay is over
    std::map<std::string, MessagePtr> here;
    for (auto& each : must(shop_.queue->peek(100'000))) {
      if (!here.emplace(each->id, each).second) return each->id + " is there twice";
    }
    for (const auto& [id, known] : books_) {
      const auto found = here.find(id);
      if (found == here.end()) {
        if (known.acknowledged && !known.gone && !known.maybe_gone) return id + " is lost";
        continue;
      }
      if (known.gone) return id + " is back from the dead";
      if (found->second->payload != body(id)) return id + " has another body";
    }
    for (const auto& [id, message] : here) {
      if (!books_.contains(id)) return id + " was never published";
    }
    for (const auto& each : must(shop_.queue->receive({100'000, 1s, 0ms}, now_))) {
      const Known& known = books_[each.message->id];
      if (each.counters.failure < known.failures) return each.message->id + " forgot a failure";
    }
    now_ += 1min;  // and these leases are over
    return {};
  }

  [[nodiscard]] TimePoint now() const { return now_; }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  std::string body(const std::string& id) const {
    return id + std::string(std::stoul(id.substr(2)) * 37 % 2000, '#');
  }

  void publish() {
    std::vector<Publication> list;
    std::vector<std::string> ids;
    for (int count = 1 + below(4); count > 0; --count) {
      auto message = std::make_shared<Message>();
      message->id = "m-" + std::to_string(++published_);
      if (below(3) == 0) message->key = std::string(1, static_cast<char>('a' + below(3)));
      message->payload = body(message->id);
      ids.push_back(message->id);
      Publication publication;
      if (below(4) == 0) publication.delay = Millis{below(100)};
      publication.message = std::move(message);
      list.push_back(std::move(publication));
    }
    for (const auto& id : ids) books_[id];
    if (!shop_.queue->publish(list, now_)) return;
    for (const auto& id : ids) books_[id].acknowledged = true;
  }

  void serve() {
    auto got = shop_.queue->receive({static_cast<std::size_t>(1 + below(5)), 20s, 0ms}, now_);
    if (got) {
      for (auto& each : *got) holding_.push_back(std::move(each));
    }
    std::vector<Settlement> endings;
    std::vector<std::pair<std::string, bool>> names;
    while (!holding_.empty() && below(4) != 0) {
      const Delivery& each = holding_.back();
      const bool done = below(2) == 0;
      endings.push_back({each.lease, done ? Ending(Completed{})
                                          : Ending(Shop::failed(each, now_, Millis{below(300)}))});
      names.emplace_back(each.message->id, done);
      holding_.pop_back();
    }
    const auto settled = shop_.queue->settle(endings, now_);
    for (std::size_t i = 0; i < names.size(); ++i) {
      Known& known = books_[names[i].first];
      if (names[i].second) (settled ? known.gone : known.maybe_gone) = true;
      if (!names[i].second && settled) ++known.failures;
    }
  }

  Shop& shop_;
  std::mt19937_64 random_;
  TimePoint now_ = noon;
  int published_ = 0;
  std::map<std::string, Known> books_;
  std::vector<Delivery> holding_;
};

TEST(PowerCut, LosesNothingThatWasAcknowledged) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Shop shop;
    Worker worker(shop, seed);
    for (int life = 0; life < 4; ++life) {
      shop.open(worker.now());
      ASSERT_EQ(worker.audit(), "") << "seed " << seed << ", life " << life;
      worker.work(60);
      shop.cut_power(seed * 10 + static_cast<std::uint64_t>(life));
    }
    shop.open(worker.now());
    ASSERT_EQ(worker.audit(), "") << "seed " << seed;
  }
}

TEST(FailingDisk, LosesNothingThatWasAcknowledged) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Shop shop;
    Worker worker(shop, seed);
    for (int life = 0; life < 4; ++life) {
      shop.open(worker.now());
      ASSERT_EQ(worker.audit(), "") << "seed " << seed << ", life " << life;
      int until = static_cast<int>(seed * 7 % 90) + 5;
      const auto code = seed % 3 == 0 ? Code::disk_full : Code::unavailable;
      shop.disk->set_fault([&until, code](FaultFileSystem::Op op, const std::string&) {
        const bool counts = op == FaultFileSystem::Op::sync || op == FaultFileSystem::Op::write;
        return counts && --until <= 0 ? std::optional(code) : std::nullopt;
      });
      worker.work(60);
      shop.shut();
      if (seed % 2 == 0) shop.disk->power_cut(seed);
    }
    shop.open(worker.now());
    ASSERT_EQ(worker.audit(), "") << "seed " << seed;
  }
}

/// Fails one operation in so many, of any kind, and works again for the next.
FaultFileSystem::Fault now_and_then(std::uint64_t seed, unsigned one_in) {
  return [random = std::mt19937_64(seed), one_in](FaultFileSystem::Op, const std::string&) mutable {
    return random() % one_in == 0 ? std::optional(Code::unavailable) : std::nullopt;
  };
}

TEST(FailingDisk, ThatComesAndGoesLosesNothingThatWasAcknowledged) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Shop shop;
    Worker worker(shop, seed);
    for (unsigned life = 0; life < 4; ++life) {
      shop.open(worker.now());
      ASSERT_EQ(worker.audit(), "") << "seed " << seed << ", life " << life;
      shop.disk->set_fault(now_and_then(seed * 10 + life, 30 + 40 * life));
      worker.work(60);
      if (seed % 3 == 0) (void)shop.queues->close();
      shop.shut();
      if (seed % 2 == 0) shop.disk->power_cut(seed);
    }
    shop.open(worker.now());
    ASSERT_EQ(worker.audit(), "") << "seed " << seed;
  }
}

// Reads are no part of what makes a journal read-only: all others go on.
TEST(FailingDisk, ThatDoesNotGiveWhatIsThereNowAndThenLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Shop shop;
    Worker worker(shop, seed);
    shop.open(worker.now());
    shop.disk->set_fault(
        [fault = now_and_then(seed, 4)](FaultFileSystem::Op op, const std::string& name) {
          return op == FaultFileSystem::Op::read ? fault(op, name) : std::nullopt;
        });
    worker.work(200);
    shop.disk->set_fault({});
    ASSERT_EQ(worker.audit(), "") << "seed " << seed;
    shop.open(worker.now());
    ASSERT_EQ(worker.audit(), "") << "seed " << seed << ", opened again";
  }
}

TEST(PowerCut, WhileTheQueuesAreClosedIsNoDamage) {
  for (int until = 1; until < 60; ++until) {
    Shop shop;
    Worker worker(shop, 5);
    shop.open(worker.now());
    worker.work(20);
    std::atomic<int> left = until;
    shop.disk->set_fault([&left](FaultFileSystem::Op, const std::string&) {
      return --left < 0 ? std::optional(Code::unavailable) : std::nullopt;
    });
    (void)shop.queues->close();
    shop.cut_power(static_cast<std::uint64_t>(until));
    shop.open(worker.now());
    ASSERT_EQ(worker.audit(), "") << until;
  }
}

TEST(FailingDisk, AfterAFailedSyncNothingIsAcknowledgedAndTheReasonIsTold) {
  Shop shop;
  shop.open();
  shop.publish("before");
  bool broken = true;
  shop.disk->set_fault([&](FaultFileSystem::Op op, const std::string&) {
    return broken && op == FaultFileSystem::Op::sync ? std::optional(Code::unavailable)
                                                     : std::nullopt;
  });
  Publication publication;
  publication.message = std::make_shared<const Message>();
  const auto first = shop.queue->publish({&publication, 1}, noon);
  ASSERT_FALSE(first);
  broken = false;  // a later sync that works proves nothing about the pages of the failed one
  const auto second = shop.queue->publish({&publication, 1}, noon);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::unavailable);
  EXPECT_NE(second.error().detail.find("read-only"), std::string::npos) << second.error().detail;
  EXPECT_FALSE(shop.queue->receive({1, 30s, 0ms}, noon));
  shop.open();
  EXPECT_EQ(shop.take_ids(10).front(), "before");
}

TEST(AFullDisk, RefusesPublicationsAndLetsConsumersMakeRoom) {
  Shop shop;
  shop.settings.journal.segment_size = 256U << 10U;
  shop.settings.journal.prepare_ahead = true;
  shop.open();
  shop.publish("first");
  // No new file can be filled any more; what was taken before can be used.
  std::atomic<bool> full = true;
  shop.disk->set_fault([&](FaultFileSystem::Op op, const std::string& name) {
    const bool new_file = (name > "000000000002.seg" && name < "1") ||
                          (name.starts_with("spare-new-") && name != "spare-new-1.seg");
    return full && new_file && op != FaultFileSystem::Op::sync ? std::optional(Code::disk_full)
                                                               : std::nullopt;
  });
  std::size_t taken = 1;
  std::optional<Error> refused;
  while (!refused && taken < 10'000) {
    Publication publication;
    publication.message =
        std::make_shared<const Message>(Message{.id = "m", .payload = std::string(1000, 'x')});
    const auto answer = shop.queue->publish({&publication, 1}, noon);
    if (answer) ++taken;
    if (!answer) refused = answer.error();
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::disk_full) << refused->detail;
  EXPECT_GT(taken, 300U);
  std::size_t done = 0;
  for (auto got = shop.take(50); !got.empty(); got = shop.take(50)) {
    std::vector<Settlement> endings;
    for (const auto& each : got) endings.push_back({each.lease, Completed{}});
    must(shop.queue->settle(endings, noon));
    done += got.size();
  }
  EXPECT_EQ(done, taken);
  full = false;  // the segments they emptied are there for reuse
  must(shop.queues->tidy());
  shop.publish("there is room again");
  EXPECT_EQ(shop.take_ids(5).size(), 1U);
}

int goes_on_after_a_restart(const std::string& disk) {
  EmbeddedOptions settings;
  settings.journal.segment_size = 4U << 20U;
  SourceOptions jobs;
  jobs.source = "jobs";
  std::size_t taken = 0;
  {
    const auto queues = must(EmbeddedQueues::open(disk, noon, settings));
    const auto queue = must(queues->declare(jobs));
    const std::vector<Publication> list(
        16,
        Publication{std::make_shared<const Message>(Message{.payload = std::string(10'000, 'x')}),
                    {},
                    {},
                    {}});
    while (queue->publish(list, noon)) taken += list.size();
    EXPECT_OR_RETURN(taken > 100);
  }
  const auto queues = must(EmbeddedQueues::open(disk, noon, settings));
  const auto queue = must(queues->declare(jobs));
  std::size_t done = 0;
  while (true) {
    const auto got = must(queue->receive({100, 30s, 0ms}, noon));
    if (got.empty()) break;
    std::vector<Settlement> endings;
    for (const Delivery& each : got) endings.push_back({each.lease, Completed{}});
    must(queue->settle(endings, noon));
    done += got.size();
  }
  EXPECT_OR_RETURN(done == taken);
  must(queues->tidy());
  const Publication next{std::make_shared<const Message>(Message{.id = "next"}), {}, {}, {}};
  EXPECT_OR_RETURN(eventually([&] { return queue->publish({&next, 1}, noon).has_value(); }));
  return 0;
}

TEST(AFullDisk, IsOpenedAgainSoThatConsumersCanMakeRoom) {
  EXPECT_ON_SMALL_DISK("10", goes_on_after_a_restart);
}

TEST(AHugeMessage, ComesBackWholeAndATooLargeListIsRefused) {
  Shop shop;
  shop.open();
  const std::string large(64U << 20U, 'L');
  Publication publication;
  publication.message = std::make_shared<const Message>(Message{.id = "large", .payload = large});
  must(shop.queue->publish({&publication, 1}, noon));
  shop.publish("small");
  const std::vector<Publication> seventeen(17, publication);
  const auto refused = shop.queue->publish(seventeen, noon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  shop.open(noon + 1s);
  const auto got = shop.take(5, noon + 1s);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_TRUE(got[0].message->payload == large);
}

}  // namespace
}  // namespace dlo::testing
