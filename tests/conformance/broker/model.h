#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/source_options.h"

namespace dlo::testing {

/// The contract of a broker in the plainest possible form: one map, everything recounted each time.
/// The clock never goes back.
class BrokerModel {
 public:
  explicit BrokerModel(SourceOptions options, bool keeps_dead = false)
      : options_(std::move(options)), keeps_dead_(keeps_dead) {}

  struct Item {
    std::string key;
    Priority priority = Priority::normal;
    std::optional<TimePoint> expires;
    Counters counters;
    TimePoint due{};    // when its delay ends
    TimePoint since{};  // when it joined those who wait
    std::optional<TimePoint> leased_until;
    LeaseToken lease;
    bool started = false;
    bool head = false;   // first of its key, so in play
    bool ahead = false;  // interrupted: comes first
    bool interrupted = false;
    bool repeat = false;
    std::uint32_t interruptions = 0;
    std::optional<TimePoint> first_attempt_at;
    bool first_start = false;
    Millis previous_delay{0};
    std::string last_error;
    std::string trail;
  };
  enum class Place : std::uint8_t { ready, delayed, leased, held };

  void advance(TimePoint now);
  struct Sending {
    std::string id;
    Item item;
    Millis delay{0};
    std::string dedupe_id;
    bool past_hold = false;
  };
  struct Taken {
    std::optional<Code> refused;
    std::vector<std::string> repeats;  // of each: the id of the message it repeats; empty: of none
  };
  /// All or none.
  Taken publish(const std::vector<Sending>& list);
  /// Where expired ones are dropped, a receive must take all there is: then all of them go.
  void begin_receive();
  /// Empty, or what is wrong with `got` as the next delivery; follows it if nothing is.
  std::string claim(const Delivery& got, Millis lease_for, bool check_order);
  /// After the last delivery of a receive: what a full answer would have held besides.
  [[nodiscard]] std::string nothing_more(bool limit_reached) const;
  bool start(const LeaseToken& lease);
  bool renew(const LeaseToken& lease, Millis lease_for);
  SettleAnswer settle(const Settlement& settlement);
  std::uint64_t purge();
  void free_key(const std::string& key) {
    on_hold_.erase(key);
    promote();
  }
  void pause(bool paused) { numbers_.paused = paused; }
  void end_all_leases();
  [[nodiscard]] SourceStats stats();

  // Where a source has a yard.
  [[nodiscard]] std::vector<std::string> dead() const;
  std::uint64_t redrive();
  struct Moved {
    std::optional<Code> refused;
    std::uint64_t count = 0;
  };
  Moved move_to(BrokerModel& other);

 private:
  using Numbered = std::map<std::uint64_t, std::pair<std::string, Item>>;

  [[nodiscard]] Place place(std::uint64_t number) const;
  [[nodiscard]] static TimePoint age(const Item& item) { return std::max(item.since, item.due); }
  [[nodiscard]] Millis rank(const Item& item) const;
  [[nodiscard]] Numbered::iterator find(const LeaseToken& lease);
  void end_lease(Item& item, TimePoint at);
  /// Whoever has become the first of its key is ready since now.
  void promote();
  static void give_back(Item& item);
  void wait(Item& item, TimePoint again_at) const;
  void add(std::string id, Item item);
  void bury(Numbered::iterator at, const DeadLettered& ending);
  [[nodiscard]] std::optional<Code> room_for(std::size_t more) const;
  [[nodiscard]] bool is_in_hand(const std::string& key) const;
  void drop_expired();
  [[nodiscard]] bool is_expired(const Item& item) const {
    return item.expires && *item.expires <= now_;
  }

  SourceOptions options_;
  bool keeps_dead_;
  TimePoint now_{};
  Numbered items_;
  std::uint64_t last_ = 0;  // number given
  std::vector<std::pair<std::string, Item>> dead_;
  struct Remembered {
    TimePoint at{};
    std::string id;
  };
  std::map<std::string, Remembered> seen_;  // by dedupe id
  std::set<std::string> on_hold_;
  SourceStats numbers_;
};

/// "ready 3 delayed 1 ...": what a recount must give.
std::string describe(const SourceStats& stats);

}  // namespace dlo::testing
