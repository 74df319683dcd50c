#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dlo/core/result.h"

namespace dlo::api {

/// The document that says that a source is paused: its key is the source.
inline constexpr const char* paused_kind = "source_paused";

/// A queue of another broker whose messages are handled here: how that goes.
struct ConsumedSource {
  std::string source;
  std::string broker;  // "rabbitmq"
  std::string queue;
  std::string handler;
  std::string profile;
  std::string dead_letter_queue;  // empty: the office alone has what died
  std::string state;
  bool paused = false;
  std::uint64_t received = 0;  // since the start, as are
  std::uint64_t succeeded = 0;
  std::uint64_t retried = 0;
  std::uint64_t dead = 0;
  std::uint64_t repeats = 0;
  std::uint64_t dropped = 0;
  std::uint64_t in_flight = 0;
  std::string trouble;  // empty: none
};

/// Functions from any thread.
struct ConsumedSources {
  std::vector<std::string> names{};  // what waits of these is run by them
  std::function<std::vector<ConsumedSource>()> list{};
  std::function<void(const std::string& source, bool paused)> pause{};
  /// What its messages need beside what is read: whether they can be sent on. Empty: not asked.
  std::function<Result<void>()> may_send{};
};

}  // namespace dlo::api
