#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dlo/store/office.h"

namespace dlo::cli {

/// Which file an office is: remembered when it is opened, so that it can be said at the end whether
/// what was written is still there.
class LastLook {
 public:
  explicit LastLook(std::string directory);

  /// Before the office is closed: what it found damaged, a short look may not find again.
  void ask(Office& office);

  /// What is wrong with the office now, for people; empty: nothing that a short look would find.
  [[nodiscard]] std::optional<std::string> trouble() const;

 private:
  std::string directory_;
  std::uint64_t device_ = 0;
  std::uint64_t number_ = 0;
  bool found_damaged_ = false;
};

}  // namespace dlo::cli
