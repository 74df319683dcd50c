#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/broker/broker_suite.h"

namespace dlo::testing {

/// Ways to break what passes between the suite and a broker. An empty hook breaks nothing.
struct Hooks {
  std::function<void(SourceOptions&)> options;
  std::function<void(TimePoint& now, TimePoint latest)> clock;  // of every call
  std::function<void(ReceiveRequest&)> request;
  std::function<void(Delivery&)> delivery;
  std::function<void(std::vector<Delivery>&)> deliveries;
  std::function<std::optional<Error>(const std::vector<Delivery>&)> receive_error;
  std::function<bool(const Message&, const Message&)> first;  // takes all, keeps those first
  std::function<void(Settlement&, TimePoint now)> settlement;
  std::function<void(SettleAnswer&)> settled;
  std::function<void(Publication&)> publication;
  std::function<void(PublishAnswer&)> published;
  std::function<void(Millis& lease_for)> renewal;
  std::function<void(SourceStats&)> stats;
  bool leases_follow_the_wall = false;
  bool publish_one_by_one = false;
  bool jump_back_hides = false;
  bool ignore_start = false;
  bool ignore_renew = false;
  bool ignore_pause = false;
  bool ignore_purge = false;
  bool ignore_close = false;
  bool ignore_free_key = false;
  bool hide_held_keys = false;
  bool peek_claims = false;
  bool restart_purges = false;
  bool ignore_restart = false;
};

/// One rule broken, and the tests of the suite that must notice.
struct Sabotage {
  std::string name;
  std::vector<std::string> noticed_by;
  Hooks hooks;
};
const std::vector<Sabotage>& sabotages();

/// A backend that does what `inner` does, except where `sabotage` breaks it.
BrokerBackend sabotaged(BrokerBackend inner, const Sabotage& sabotage);

/// The sabotage that the environment asks for (DLO_SABOTAGE names it), applied to `backend`.
BrokerBackend as_asked(BrokerBackend backend);
inline constexpr const char* sabotage_variable = "DLO_SABOTAGE";

}  // namespace dlo::testing
