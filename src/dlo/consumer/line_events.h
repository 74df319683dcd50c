#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dlo/core/decide.h"
#include "dlo/engine/events.h"

namespace dlo::consumer {

/// One line of what happens, for people.
using Log = std::function<void(const std::string&)>;
/// What a line says of a message that was handled well, beside its id, such as ", BookingId: 7".
using SayDone = std::function<std::string(const Message&)>;
/// The rules as they are now; never null.
using CurrentRules = std::function<std::shared_ptr<const RuleBook>()>;

/// What is wrong around a consumer, as its processors find out. Each thing is told once when it
/// begins and once when it ends.
/// Threads  Any method from any thread.
class Troubles {
 public:
  using Changed = std::function<void()>;
  explicit Troubles(Changed changed) : changed_(std::move(changed)) {}

  void broker(const std::optional<Error>& error) { set(broker_, error); }
  void office(const std::optional<Error>& error) { set(office_, error); }
  void copies(const std::optional<Error>& error) { set(copies_, error); }
  void clear() {
    const std::lock_guard lock(mutex_);
    broker_.reset();
    office_.reset();
    copies_.reset();
  }

  struct Seen {
    std::optional<Error> broker;
    std::optional<Error> office;
    std::optional<Error> copies;
  };
  [[nodiscard]] Seen seen() const {
    const std::lock_guard lock(mutex_);
    return {broker_, office_, copies_};
  }

 private:
  void set(std::optional<Error>& place, const std::optional<Error>& error) {
    {
      const std::lock_guard lock(mutex_);
      place = error;
    }
    changed_();
  }

  const Changed changed_;
  mutable std::mutex mutex_;
  std::optional<Error> broker_;
  std::optional<Error> office_;
  std::optional<Error> copies_;
};

/// What one processor of a consumer tells: its troubles, and the log of document 001 (S1-16, S1-18
/// to S1-21, S1-24, S1-52).
class LineEvents final : public EngineEvents {
 public:
  /// `at_office`: its source is the office itself.
  LineEvents(Troubles& troubles, Log log, CurrentRules rules, bool at_office, SayDone done = {})
      : troubles_(troubles),
        log_(std::move(log)),
        rules_(std::move(rules)),
        at_office_(at_office),
        done_(std::move(done)) {}

  void succeeded(const Message& message, const Counters& counters, Millis took) override;
  void failed(const Message& message, const Failure& failure, const Decision& decision,
              Millis took) override;
  void dead_lettered(const DeadLetter& record) override;
  void dropped(const Message& message, std::string_view reason) override;
  void store_down(const Error& error) override { troubles_.office(error); }
  void store_up() override { troubles_.office(std::nullopt); }
  void source_down(const Error& error) override;
  void source_up() override;

 private:
  Troubles& troubles_;
  const Log log_;
  const CurrentRules rules_;
  const bool at_office_;
  const SayDone done_;  // empty: of what goes well nothing is said
};

}  // namespace dlo::consumer
