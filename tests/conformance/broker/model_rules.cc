// Random histories on one thread, compared with the plainest model after every step.
#include <deque>
#include <functional>
#include <map>
#include <random>

#include "conformance/broker/broker_suite.h"
#include "conformance/broker/model.h"

namespace dlo::testing {
namespace {

/// Restarts the source and answers the broker that goes on.
using Restarter = std::function<Broker&(TimePoint)>;

/// The source, and what it is like.
struct Walked {
  Broker& broker;
  SourceOptions options;
  Abilities can;
  Yard* yard = nullptr;  // it keeps its dead, and there is a second queue
};

/// Does the same to a broker and to the model, and says where they part.
class Walk {
 public:
  Walk(const Walked& walked, std::uint64_t seed)
      : broker_(&walked.broker),
        yard_(walked.yard),
        model_(walked.options, walked.yard != nullptr),
        aside_(walked.options),
        options_(walked.options),
        can_(walked.can),
        random_(seed) {}

  /// Empty if they agreed; else what differed and the last steps that led there.
  std::string run(int steps, const Restarter& restart) {
    for (int step = 0; step < steps; ++step) {
      if (chance(2)) now_ += Millis{below(30)};
      model_.advance(now_);
      aside_.advance(now_);
      auto wrong = act(restart);
      if (wrong.empty()) wrong = compare_stats();
      if (!wrong.empty()) return "step " + std::to_string(step) + ": " + wrong + "\n" + trace();
    }
    return {};
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  bool chance(int one_in) { return below(one_in) == 0; }
  void look() {
    must(broker_->stats(now_));
    (void)model_.stats();
  }
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
    if (what < 28) return publish();
    if (what < 53) return receive();
    if (what < 66) return start();
    if (what < 86) return settle();
    if (what < 90) return renew();
    if (what < 92) return pause();
    if (what < 94) return free_key();
    if (what == 94) return purge();
    if (what < 99) return in_the_yard(what - 95);
    if (can_.restart && chance(3)) {
      note("every holder dies");
      look();  // what ran out before the end, ran out
      broker_ = &restart(now_);
      model_.end_all_leases();
    }
    return {};
  }

  /// One publication, for the broker and for the model.
  std::pair<Publication, BrokerModel::Sending> made() {
    static const char* const keys[] = {"", "", "", "a", "b", "c"};
    Publication publication;
    BrokerModel::Sending sending;
    Message message;
    auto& item = sending.item;
    message.id = sending.id = "m-" + std::to_string(++published_);
    message.key = item.key = keys[below(6)];
    message.priority = item.priority = static_cast<Priority>(below(3));
    if (chance(5)) message.expires_at = item.expires = some_expiry();
    if (chance(3)) publication.delay = sending.delay = Millis{below(60)};
    if (can_.holds && chance(4)) publication.past_hold = sending.past_hold = true;
    if (can_.dedupe && chance(3)) {
      publication.dedupe_id = sending.dedupe_id = "d-" + std::to_string(below(20));
    }
    note("publish " + message.id + (sending.past_hold ? " past a hold of" : "") + " key " +
         message.key + " priority " + std::to_string(static_cast<int>(message.priority)) +
         " delay " + std::to_string(sending.delay.count()) + " " + sending.dedupe_id);
    publication.message = std::make_shared<const Message>(std::move(message));
    return {std::move(publication), std::move(sending)};
  }

  /// What nobody receives is dropped within a second: at full ones it is certain when.
  TimePoint some_expiry() {
    if (!options_.drop_expired) return now_ + Millis{below(80)};
    return std::chrono::ceil<std::chrono::seconds>(now_ + Millis{below(400)});
  }

  std::string publish() { return publish(*broker_, model_); }

  std::string publish(Broker& to, BrokerModel& model) {
    std::vector<Publication> list;
    std::vector<BrokerModel::Sending> sendings;
    for (int left = chance(2) ? 1 : 1 + below(5); left > 0; --left) {
      auto [publication, sending] = made();
      list.push_back(std::move(publication));
      sendings.push_back(std::move(sending));
    }
    const auto answers = to.publish(list, now_);
    const auto taken = model.publish(sendings);
    if (taken.refused) {
      note("refused");
      return !answers && answers.error().code == *taken.refused ? "" : "there was no room";
    }
    if (!answers) return "refused, though there was room: " + answers.error().detail;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto& id = sendings[i].id;
      const auto& repeats = taken.repeats[i];
      if ((*answers)[i].duplicate != !repeats.empty()) return id + ": duplicate or not";
      if (!can_.stable_positions) continue;
      if (repeats.empty()) positions_[id] = (*answers)[i].position->offset;
      if (!repeats.empty() && (*answers)[i].position->offset != positions_.at(repeats)) {
        return id + " stands elsewhere than what it repeats";
      }
    }
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

  /// Places of some leases; one of them may come twice.
  std::vector<std::size_t> pick_some() {
    std::vector<std::size_t> places;
    for (int left = chance(2) ? 1 : 1 + below(4); left > 0; --left) places.push_back(pick());
    return places;
  }
  std::vector<LeaseToken> some_leases() {
    std::vector<LeaseToken> leases;
    for (const auto at : pick_some()) {
      leases.push_back(chance(20) ? LeaseToken{{random_(), random_()}} : leases_[at]);
    }
    return leases;
  }

  std::string start() {
    if (leases_.empty()) return {};
    const auto leases = some_leases();
    const auto live = must(broker_->start(leases, now_));
    for (std::size_t i = 0; i < leases.size(); ++i) {
      note(std::string("start: ") + (live[i] ? "live" : "lost"));
      if (live[i] != model_.start(leases[i])) return "start answered otherwise";
    }
    return {};
  }

  std::string renew() {
    if (leases_.empty()) return {};
    const auto leases = some_leases();
    const Millis lease_for{1 + below(80)};
    const auto live = must(broker_->renew(leases, now_, lease_for));
    for (std::size_t i = 0; i < leases.size(); ++i) {
      note(std::string("renew: ") + (live[i] ? "live" : "lost"));
      if (live[i] != model_.renew(leases[i], lease_for)) return "renew answered otherwise";
    }
    return {};
  }

  std::string some_trail() { return "trail " + std::to_string(below(100)); }

  Ending ending_of(std::size_t at) {
    const auto again_at = now_ + Millis{chance(2) ? 0 : below(60) - 10};
    switch (below(6)) {
      case 1: {
        Failed failed;
        failed.again_at = again_at;
        failed.counters = with_start(counters_[at]);
        ++failed.counters.failure;
        failed.error = "error " + std::to_string(below(100));
        failed.delay = Millis{below(1000)};
        if (chance(2)) failed.trail = some_trail();
        return failed;
      }
      case 2: {
        Abandoned abandoned{chance(2), again_at, chance(2) ? "busy" : "",
                            chance(2) ? some_trail() : ""};
        if (chance(2)) {
          abandoned.counters = with_start(counters_[at]);
          abandoned.counters->failure += 2;
          ++abandoned.counters->abandon;
        }
        return abandoned;
      }
      case 3:
      case 4:
        return ReleasedUnrun{};
      case 5:
        return DeadLettered{chance(2), chance(2) ? "too bad" : ""};
      default:
        return Completed{};
    }
  }

  std::string settle() {
    if (leases_.empty()) return {};
    std::vector<Settlement> list;
    for (const auto at : pick_some()) list.push_back({leases_[at], ending_of(at)});
    const auto answers = must(broker_->settle(list, now_));
    for (std::size_t i = 0; i < list.size(); ++i) {
      note("settle as " + std::to_string(list[i].ending.index()) +
           (answers[i].settled == Settled::done ? ": done" : ": lost"));
      const auto expected = model_.settle(list[i]);
      if (answers[i].settled != expected.settled) return "settle answered otherwise";
      if (answers[i].abandon_count != expected.abandon_count) return "wrong abandon count";
    }
    return {};
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
    look();  // QueueAdmin has no clock of its own
    must(broker_->admin()->free_key(key));
    model_.free_key(key);
    return {};
  }

  std::string purge() {
    if (!can_.admin || !chance(3)) return {};
    note("purge");
    look();  // likewise
    return must(broker_->admin()->purge()) == model_.purge() ? "" : "purged another number";
  }

  std::string in_the_yard(int what) {
    if (yard_ == nullptr) return {};
    look();  // whole sets go as of then
    if (what == 0) return publish(yard_->aside(), aside_);
    if (what == 1) {
      note("redrive");
      return yard_->redrive() == model_.redrive() ? "" : "another number was sent back";
    }
    const bool back = what == 2;
    note(back ? "move back" : "move aside");
    const auto moved = back ? yard_->move_back() : yard_->move_aside();
    const auto expected = back ? aside_.move_to(model_) : model_.move_to(aside_);
    if (expected.refused) {
      return !moved && moved.error().code == *expected.refused ? "" : "there was no room to move";
    }
    return moved && *moved == expected.count ? "" : "another number was moved";
  }

  std::string compare_stats() {
    const auto differ = [](const SourceStats& got, const SourceStats& expected) -> std::string {
      if (describe(got) == describe(expected)) return "";
      return "stats are\n  " + describe(got) + "\nbut should be\n  " + describe(expected);
    };
    auto wrong = differ(must(broker_->stats(now_)), model_.stats());
    if (yard_ == nullptr || !wrong.empty()) return wrong;
    wrong = differ(must(yard_->aside().stats(now_)), aside_.stats());
    if (!wrong.empty()) return "aside: " + wrong;
    return yard_->dead() == model_.dead() ? "" : "others are dead";
  }

  Broker* broker_;
  Yard* yard_;
  BrokerModel model_;
  BrokerModel aside_;
  SourceOptions options_;
  Abilities can_;
  std::mt19937_64 random_;
  TimePoint now_ = noon;
  int published_ = 0;
  bool paused_ = false;
  std::vector<LeaseToken> leases_;
  std::vector<Counters> counters_;
  std::map<std::string, std::int64_t> positions_;
  std::deque<std::string> trace_;
};

TEST_P(BrokerSuite, RandomHistoriesGoAsTheModelSays) {
  NEEDS(delays);
  NEEDS(priorities);
  NEEDS(key_order);
  NEEDS(expiry);
  for (std::uint64_t seed = 1; seed <= GetParam().histories; ++seed) {
    auto options = orders();
    options.ageing = Millis{20};
    options.claims_count = seed % 2 == 0;
    options.drop_expired = seed % 3 == 0;
    options.keys_in_order = seed % 5 != 0;
    if (can().holds && options.keys_in_order && seed % 3 == 1) options.on_death = OnDeath::hold;
    if (can().dedupe && seed % 2 == 1) options.dedupe_window = Millis{150};
    if (can().limits && seed % 4 >= 2) options.max_messages = 12;
    open(options);
    Yard* const beside = seed % 8 == 0 ? nullptr : yard();
    Walk walk({broker(), options, can(), beside}, seed);
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
