#include "dlo/api/retry_watch.h"

#include <utility>

#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr Millis look_every{300'000};  // S2-43
constexpr Millis again_after{1'000};
constexpr std::size_t most_unkept = 1'000;  // while the office cannot be written

std::string act_of(BreakerState state) {
  if (state == BreakerState::open) return "circuit.open";
  return state == BreakerState::closed ? "circuit.close" : "circuit.half_open";
}

std::string line_of(const std::string& executor, BreakerState state) {
  const std::string name = "The circuit of executor " + executor;
  switch (state) {
    case BreakerState::open:
      return name + " is open: it failed too often, and nothing is sent to it for a while.";
    case BreakerState::half_open:
      return name + " is half open: one retry probes it.";
    case BreakerState::closed:
      break;
  }
  return name + " is closed: it works again.";
}

}  // namespace

void RetryWatch::listen_to(std::shared_ptr<Executors> executors) {
  std::shared_ptr<Executors> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(executors_, executors);
  }
  if (before != nullptr) {
    for (const auto& [name, entry] : before->table().named()) entry->breaker.tell_moves({});
  }
  if (executors == nullptr) return;
  for (const auto& [name, entry] : executors->table().named()) {
    entry->breaker.tell_moves([this, of = std::string(name)](BreakerState to) { moved(of, to); });
  }
}

void RetryWatch::moved(const std::string& executor, BreakerState to) {
  note({parts_.clock.now(), "office", act_of(to), executor, "{}"}, line_of(executor, to));
}

void RetryWatch::note(AddAudit entry, std::string line) {
  {
    const std::lock_guard lock(mutex_);
    notes_.push_back({std::move(entry), std::move(line)});
  }
  if (parts_.wake) parts_.wake();
}

std::optional<TimePoint> RetryWatch::look(TimePoint now) {
  const auto numbers = parts_.numbers();
  if (!numbers) return now + look_every;  // nothing is known, so nothing has changed
  const auto alerts = alerts_of(*numbers);
  const auto turns = turns_of(known_, alerts);
  for (const RetryAlert& alert : turns.began) {
    JsonWriter json;
    json.begin_object().member("text", alert.text).end_object();
    note({now, "office", "alert.begin", std::string(alert.code), json.take()},
         "Alert " + std::string(alert.code) + ": " + alert.text);
  }
  for (const std::string& code : turns.ended) {
    note({now, "office", "alert.end", code, "{}"}, "Alert " + code + " is over.");
  }
  known_.clear();
  for (const RetryAlert& alert : alerts) known_.emplace_back(alert.code);
  return now + look_every;
}

std::optional<TimePoint> RetryWatch::tell(TimePoint now) {
  std::deque<Note> notes;
  {
    const std::lock_guard lock(mutex_);
    notes.swap(notes_);
  }
  for (Note& each : notes) {
    if (parts_.log) parts_.log(each.line);
    unkept_.emplace_back(std::move(each.entry));
    if (unkept_.size() > most_unkept) unkept_.pop_front();  // the log has it
  }
  if (unkept_.empty()) return std::nullopt;
  const std::vector<Change> changes(unkept_.begin(), unkept_.end());
  if (const auto kept = parts_.office.apply(changes); !kept) return now + again_after;
  unkept_.clear();
  return std::nullopt;
}

}  // namespace dlo::api
