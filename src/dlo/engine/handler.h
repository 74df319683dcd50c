#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "dlo/core/counters.h"
#include "dlo/core/failure.h"
#include "dlo/core/id.h"
#include "dlo/core/message.h"
#include "dlo/core/time.h"

namespace dlo {

/// What a handler may want to know about the attempt it is.
struct RunContext {
  RecordId id;  // the same for every repeat of this message: use it to be idempotent
  std::uint32_t occurrence = 1;  // of a record: which of its deaths this is a retry of
  std::string metadata;          // of a record: JSON; empty: none
  LeaseToken fence;              // of this run; a later run of a record has a larger one
  Counters counters;             // this start included
  TimePoint started{};           // when this attempt began
  Millis timeout{0};             // how long it may take; zero: no limit
  std::stop_token stop;          // set when the time is up or the engine stops
};

/// Runs one message. Blocking; called from many threads at once. Throwing and returning a failure
/// are the same thing (I5). The same handlers serve sources, retries and replay targets.
/// A handler that hands on to somebody else may also answer `never_started`: nobody took it, so
/// neither claim nor start are counted and it is offered again; or `crashed`: who took it fell
/// silent, which counts as the profile says. What it answers after it was told to stop by the
/// engine, other than ok, costs nothing (I8).
class Handler {
 public:
  virtual ~Handler() = default;
  virtual Outcome run(const Message& message, const RunContext& context) = 0;
};

/// A C++ function as a handler.
class FunctionHandler final : public Handler {
 public:
  using Function = std::function<Outcome(const Message&, const RunContext&)>;
  explicit FunctionHandler(Function function) : function_(std::move(function)) {}
  Outcome run(const Message& message, const RunContext& context) override {
    return function_(message, context);
  }

 private:
  Function function_;
};

}  // namespace dlo
