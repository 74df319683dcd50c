#pragma once

// Messages that die, and how fast an office takes such records by itself.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/measure.h"

#include "dlo/engine/processor.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::bench {

using Steady = std::chrono::steady_clock;
using std::chrono::duration;

[[noreturn]] inline void fail(const Error& error) {
  std::fprintf(stderr, "%s: %s\n", error.where.c_str(), error.detail.c_str());
  std::exit(1);
}
template <typename T>
T must(Result<T> result) {
  if (!result) fail(result.error());
  return std::move(*result);
}

inline double since(Steady::time_point began) {
  return duration<double>(Steady::now() - began).count();
}

inline std::shared_ptr<const RuleBook> standard() {
  return std::make_shared<const RuleBook>(
      must(RuleBook::build(must(find_profile(default_profile_name)))));
}

inline MessagePtr message_of(const char* id, std::size_t size) {
  auto message = std::make_shared<Message>();
  message->id = id;
  message->event_type = "OrderPlaced";
  message->payload = std::string(size, 'x');
  return message;
}

inline Failure rejection() {
  Failure failure;
  failure.type = "OrderRejected";
  failure.text = "422 unprocessable: the order names a customer we do not have";
  failure.status = 422;
  return failure;
}

/// Full records in lists of 512 by one caller, as like the engine's as can be.
inline double append_rate(const std::string& directory, double seconds) {
  const Scratch scratch(directory);
  auto office = must(SqliteOffice::open(scratch.path()));
  const Failure failure = rejection();
  const auto message = message_of("poison", 1'000);
  const Fingerprint group = fingerprint_of(failure, message->event_type, "NonRetryableError");
  std::uint64_t number = 0;
  const auto began = Steady::now();
  while (since(began) < seconds) {
    std::vector<Change> changes;
    for (int i = 0; i < 512; ++i) {
      auto record = std::make_shared<DeadLetter>();
      auto own = std::make_shared<Message>(*message);
      own->source = "orders";
      own->position = Position{"", static_cast<std::int64_t>(++number)};
      record->message = own;
      record->id = RecordId{{number * 0x9E3779B97F4A7C15ULL, number}};
      record->profile = default_profile_name;
      record->failure = failure;
      record->fingerprint = group;
      record->reason = "NonRetryableError";
      record->description = failure.text;
      record->category = "permanent";
      record->rule = "client-error";
      record->policy = "exponential base=1s factor=2 cap=5m jitter=full";
      record->died_at = SystemClock().now();
      Attempt attempt;
      attempt.number = 1;
      attempt.error_type = failure.type;
      attempt.error_text = failure.text;
      changes.emplace_back(Append{record, {attempt}});
    }
    must(office->apply(changes));
  }
  return static_cast<double>(number) / since(began);
}

}  // namespace dlo::bench
