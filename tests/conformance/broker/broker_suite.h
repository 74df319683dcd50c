#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/must.h"

#include "dlo/broker/broker.h"
#include "dlo/broker/source_options.h"

namespace dlo::testing {

using namespace std::chrono_literals;

enum class Restart : std::uint8_t {
  clean,  // closed in good order, opened again
  crash,  // the process died, opened again
};

using Ids = std::vector<std::string>;

/// What queues of our own do besides: a dead set, and sets that go from one queue to another.
class Yard {
 public:
  virtual ~Yard() = default;
  virtual Ids dead() = 0;  // who died first comes first
  virtual std::uint64_t redrive() = 0;
  /// A second source beside the one of the rig, with the same settings but no dead set.
  virtual Broker& aside() = 0;
  virtual Result<std::uint64_t> move_aside() = 0;
  virtual Result<std::uint64_t> move_back() = 0;
};

/// One source, and what the suite does to it from outside.
class Rig {
 public:
  virtual ~Rig() = default;
  virtual Broker& broker() = 0;
  /// Every lease handed out before is over afterwards.
  virtual void restart(Restart how, TimePoint now) = 0;
  /// Puts in an item whose body cannot be decoded.
  virtual void put_undecodable(const std::string& bytes, TimePoint now) = 0;
  /// Null where there is none. Whoever asks for it has a source that keeps its dead from then on.
  virtual Yard* yard() { return nullptr; }
};

/// What a backend is able to do. The suite skips a rule only where the ability it needs is absent.
struct Abilities {
  bool restart = true;
  bool undecodable = true;  // the rig can put one in
  bool stable_positions = true;
  bool delays = true;  // to the millisecond
  bool priorities = true;
  bool key_order = true;
  bool holds = true;  // of keys, by every death of a source
  bool dedupe = true;
  bool limits = true;
  bool expiry = true;
  bool admin = true;
  bool rates = true;
  bool start_marks = true;  // outlive the process that made them
  bool exact_order = true;  // ages decide to the millisecond, not roughly
};

struct BrokerBackend {
  std::string name;
  Abilities can;
  /// A source of its own for each call, empty.
  std::function<std::unique_ptr<Rig>(const SourceOptions&)> make_empty;
  /// Finds the server it needs, or throws MissingServer.
  std::function<void()> find_server = nullptr;
  /// How many random histories it walks: fewer where every step asks a server.
  std::uint64_t histories = 48;
};
void PrintTo(const BrokerBackend& backend, std::ostream* out);
std::string backend_name(const ::testing::TestParamInfo<BrokerBackend>& info);

/// The contract of dlo/broker/broker.h, executable. A backend joins with one line,
/// INSTANTIATE_TEST_SUITE_P(Name, BrokerSuite, Values(...), backend_name), in its own file.
class BrokerSuite : public ::testing::TestWithParam<BrokerBackend> {
 protected:
  void SetUp() override;
  [[nodiscard]] const Abilities& can() const { return GetParam().can; }
  [[nodiscard]] static SourceOptions orders() {
    SourceOptions options;
    options.source = "orders";
    return options;
  }
  /// A fresh source; the one before it is gone.
  Broker& open(const SourceOptions& options = orders());
  Broker& broker();
  QueueAdmin& admin();

  static Message message(const std::string& id, const std::string& key = "");
  PublishAnswer publish(Publication publication, Instant now = noon);
  PublishAnswer publish(const Message& what, Instant now = noon, Millis delay = 0ms);
  PublishAnswer publish(const std::string& id, Instant now = noon, const std::string& key = "");

  std::vector<Delivery> take(std::size_t limit, Instant now = noon, Millis lease_for = 30s);
  Delivery take_one(Instant now = noon, Millis lease_for = 30s);
  /// Ids of what a receive handed out, in order.
  static Ids ids(const std::vector<Delivery>& deliveries);
  bool start(const LeaseToken& lease, Instant now = noon);
  bool renew(const LeaseToken& lease, Instant now, Millis lease_for);
  SettleAnswer end(const LeaseToken& lease, Ending ending, Instant now = noon);
  /// As `end`, where the lease must be live.
  SettleAnswer settle(const Delivery& delivery, Ending ending, Instant now = noon);
  SourceStats stats(Instant now = noon);
  void restart(Restart how, TimePoint now);
  void put_undecodable(const std::string& bytes, TimePoint now = noon);
  Yard* yard();

 private:
  std::unique_ptr<Rig> rig_;
};

/// A failure of this attempt that comes back after `delay`.
Failed failed(const Delivery& delivery, TimePoint now, Millis delay, std::string error = "no");

}  // namespace dlo::testing

#define NEEDS(ability) \
  if (!can().ability) GTEST_SKIP() << GetParam().name << " has no " #ability
