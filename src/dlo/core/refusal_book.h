#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "dlo/core/time.h"

namespace dlo {

/// Whether a refusal is written down: whoever is refused again and again must not fill the trail.
/// The first ones of everybody are; then one in a while, which says how many were not. A value:
/// time is an argument. Remembers a bounded number of those who were refused.
class RefusalBook {
 public:
  struct Limits {
    std::uint32_t at_once = 30;     // of one asker
    Millis one_more_every{60'000};  // of one who had all of them
    std::size_t most_askers = 4'096;
  };
  RefusalBook() : RefusalBook(Limits{}) {}
  explicit RefusalBook(const Limits& limits) : limits_(limits) {}

  /// Nothing: it is not written. Otherwise how many of this asker were not written since the last.
  [[nodiscard]] std::optional<std::uint64_t> note(const std::string& asker, TimePoint now);
  [[nodiscard]] std::size_t size() const noexcept { return askers_.size(); }

 private:
  struct Asker {
    std::uint32_t left = 0;
    TimePoint since{};
    std::uint64_t unwritten = 0;
  };
  void make_room(TimePoint now);

  Limits limits_;
  std::unordered_map<std::string, Asker> askers_;
};

}  // namespace dlo
