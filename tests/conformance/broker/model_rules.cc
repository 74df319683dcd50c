// Random histories on one thread, compared with the plainest model after every step.
#include <deque>
#include <functional>
#include <random>

#include "conformance/broker/broker_suite.h"
#include "conformance/broker/model.h"

namespace dlo::testing {
namespace {

/// Restarts the source and answers the broker that goes on.
using Restarter = std::function<Broker&(TimePoint)>;

/// Does the same to a broker and to the model, and says where they part.
class Walk {
 public:
  Walk(Broker& broker, const SourceOptions& options, const Abilities& can, std::uint64_t seed)
      : broker_(&broker), model_(options), options_(options), can_(can), random_(seed) {}

  /// Empty if they agreed; else what differed and the last steps that led there.
  std::string run(int steps, const Restarter& restart) {
    for (int step = 0; step < steps; ++step) {
      if (chance(2)) now_ += Millis{below(30)};
      model_.advance(now_);
      auto wrong = act(restart);
      if (wrong.empty()) wrong = compare_stats();
      if (!wrong.empty()) return "step " + std::to_string(step) + ": " + wrong + "\n" + trace();
    }
    return {};
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  bool chance(int one_in) { return below(one_in) == 0; }
  void note(std::string what) {
    trace_.push_back("+" + std::to_string((now_ - noon).count()) + " " + std::move(what));
    if (trace_.size() > 40) trace_.pop_front();
  }
  std::string trace() const {
    std::string out;
    for (const auto& line : trace_) out += line + "\n";
    return out;
  }

  std::string act(const Restarter& restart) {
    const int what = below(100);
    if (what < 30) return publish();
    if (what < 55) return receive();
    if (what < 68) return start();
    if (what < 88) return settle();
    if (what < 93) return renew();
    if (what < 95) return pause();
    if (what < 98) return free_key();
    if (what == 98) return purge();
    if (can_.restart && chance(3)) {
      note("every holder dies");
      must(broker_->stats(now_));  // what ran out before the end, ran out
      broker_ = &restart(now_);
      model_.end_all_leases();
    }
    return {};
  }

  std::string publish() {
    static const char* const keys[] = {"", "", "", "a", "b", "c"};
    Publication publication;
    Message made;
    BrokerModel::Item item;
    made.id = "m-" + std::to_string(++published_);
    made.key = item.key = keys[below(6)];
    made.priority = item.priority = static_cast<Priority>(below(3));
    if (chance(5)) made.expires_at = item.expires = now_ + Millis{below(80)};
    if (chance(3)) publication.delay = Millis{below(60)};
    publication.message = std::make_shared<const Message>(made);
    note("publish " + made.id + " key " + made.key + " priority " +
         std::to_string(static_cast<int>(made.priority)) + " delay " +
         std::to_string(publication.delay.count()));
    must(broker_->publish({&publication, 1}, now_));
    model_.publish(made.id, item, publication.delay);
    return {};
  }

  std::string receive() {
    // Where expired ones are dropped, take all: which of them a smaller limit leaves is open.
    const auto limit = options_.drop_expired ? 100'000U : static_cast<unsigned>(below(6));
    const Millis lease_for{1 + below(80)};
    const auto got = must(broker_->receive({limit, lease_for, 0ms}, now_));
    std::string names;
    for (const auto& delivery : got) names += " " + delivery.message->id;
    note("receive " + std::to_string(limit) + ":" + names);
    if (got.size() > limit) return "more than the limit";
    model_.begin_receive();
    const bool check_order = can_.exact_order && !options_.drop_expired;
    for (const auto& delivery : got) {
      leases_.push_back(delivery.lease);
      counters_.push_back(delivery.counters);
      if (auto wrong = model_.claim(delivery, lease_for, check_order); !wrong.empty()) {
        return wrong;
      }
    }
    return model_.nothing_more(got.size() == limit);
  }

  // Mostly a recent lease, sometimes one long gone, sometimes an invented one.
  std::size_t pick() {
    const auto recent = std::min<std::size_t>(leases_.size(), 12);
    if (chance(8)) return random_() % leases_.size();
    return leases_.size() - 1 - random_() % recent;
  }

  std::string start() {
    if (leases_.empty()) return {};
    const auto lease = chance(20) ? LeaseToken{{random_(), random_()}} : leases_[pick()];
    const bool live = must(broker_->start({&lease, 1}, now_)).at(0);
    note(std::string("start: ") + (live ? "live" : "lost"));
    return live == model_.start(lease) ? "" : "start answered otherwise";
  }

  std::string renew() {
    if (leases_.empty()) return {};
    const auto lease = leases_[pick()];
    const Millis lease_for{1 + below(80)};
    const bool live = must(broker_->renew({&lease, 1}, now_, lease_for)).at(0);
    note(std::string("renew: ") + (live ? "live" : "lost"));
    return live == model_.renew(lease, lease_for) ? "" : "renew answered otherwise";
  }

  std::string settle() {
    if (leases_.empty()) return {};
    const auto at = pick();
    Settlement settlement{leases_[at], Completed{}};
    const auto again_at = now_ + Millis{chance(2) ? 0 : below(60) - 10};
    const int how = below(6);
    if (how == 1) {
      Failed failed;
      failed.again_at = again_at;
      failed.counters = with_start(counters_[at]);
      ++failed.counters.failure;
      failed.error = "error " + std::to_string(below(100));
      failed.delay = Millis{below(1000)};
      settlement.ending = failed;
    } else if (how == 2) {
      settlement.ending = Abandoned{chance(2), again_at, chance(2) ? "busy" : ""};
    } else if (how == 3 || how == 4) {
      settlement.ending = ReleasedUnrun{};
    } else if (how == 5) {
      settlement.ending = DeadLettered{chance(2)};
    }
    const auto answer = must(broker_->settle({&settlement, 1}, now_)).at(0);
    note("settle as " + std::to_string(settlement.ending.index()) +
         (answer.settled == Settled::done ? ": done" : ": lost"));
    const auto expected = model_.settle(settlement);
    if (answer.settled != expected.settled) return "settle answered otherwise";
    return answer.abandon_count == expected.abandon_count ? "" : "wrong abandon count";
  }

  std::string pause() {
    if (!can_.admin) return {};
    paused_ = !paused_ && chance(2);
    note(paused_ ? "pause" : "resume");
    must(paused_ ? broker_->admin()->pause() : broker_->admin()->resume());
    model_.pause(paused_);
    return {};
  }

  std::string free_key() {
    if (!can_.admin) return {};
    const std::string key(1, static_cast<char>('a' + below(4)));
    note("free key " + key);
    must(broker_->admin()->free_key(key));
    model_.free_key(key);
    return {};
  }

  std::string purge() {
    if (!can_.admin || !chance(3)) return {};
    note("purge");
    must(broker_->stats(now_));  // QueueAdmin has no clock of its own
    return must(broker_->admin()->purge()) == model_.purge() ? "" : "purged another number";
  }

  std::string compare_stats() {
    const auto got = describe(must(broker_->stats(now_)));
    const auto expected = describe(model_.stats());
    return got == expected ? "" : "stats are\n  " + got + "\nbut should be\n  " + expected;
  }

  Broker* broker_;
  BrokerModel model_;
  SourceOptions options_;
  Abilities can_;
  std::mt19937_64 random_;
  TimePoint now_ = noon;
  int published_ = 0;
  bool paused_ = false;
  std::vector<LeaseToken> leases_;
  std::vector<Counters> counters_;
  std::deque<std::string> trace_;
};

TEST_P(BrokerSuite, RandomHistoriesGoAsTheModelSays) {
  NEEDS(delays);
  NEEDS(priorities);
  NEEDS(key_order);
  NEEDS(expiry);
  for (std::uint64_t seed = 1; seed <= 48; ++seed) {
    auto options = orders();
    options.ageing = Millis{20};
    options.claims_count = seed % 2 == 0;
    options.drop_expired = seed % 3 == 0;
    options.keys_in_order = seed % 5 != 0;
    Walk walk(open(options), options, can(), seed);
    const auto how = seed % 4 == 0 ? Restart::clean : Restart::crash;
    const auto wrong = walk.run(600, [&](TimePoint now) -> Broker& {
      restart(how, now);
      return broker();
    });
    ASSERT_TRUE(wrong.empty()) << "seed " << seed << ", " << wrong;
  }
}

}  // namespace
}  // namespace dlo::testing
