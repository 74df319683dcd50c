#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "dlo/core/time.h"

namespace dlo {

/// Slows down whoever tries wrong tokens: some tries are free, then each doubles the wait. A value:
/// time is an argument. Remembers a bounded number of clients, those who failed last.
class Damper {
 public:
  struct Limits {
    std::uint32_t free_tries = 10;
    Millis first_wait{1'000};
    Millis longest_wait{300'000};
    Millis forgets_after{900'000};  // without a further failure
    std::size_t most_clients = 4'096;
  };
  Damper() : Damper(Limits{}) {}
  explicit Damper(const Limits& limits) : limits_(limits) {}

  /// How long this client's failures are not even looked at; nothing: not at all.
  [[nodiscard]] std::optional<Millis> wait_of(const std::string& client, TimePoint now) const;
  void failed(const std::string& client, TimePoint now);
  [[nodiscard]] std::size_t size() const noexcept { return clients_.size(); }

 private:
  struct Tries {
    std::uint32_t failures = 0;
    TimePoint last{};
    TimePoint closed_until{};
  };
  void make_room(TimePoint now);

  Limits limits_;
  std::unordered_map<std::string, Tries> clients_;
};

}  // namespace dlo
