#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/journal/file_system.h"
#include "dlo/journal/journal.h"

namespace dlo::embedded {

/// Messages whose bytes are gone, as repairs have told: where their state or body should be. They
/// stay in their queue until they are handed out as undecodable, and are no news meanwhile. A file
/// with a line for each, `SEGMENT OFFSET SEQUENCE`; what cannot be understood is left out.
class BrokenList {
 public:
  [[nodiscard]] static Result<BrokenList> read(FileSystem& files);
  [[nodiscard]] static std::string file_name(TimePoint repaired_at);
  [[nodiscard]] static std::string to_text(std::span<const Address> broken);

  /// Sequences are given once: nobody else is ever meant.
  [[nodiscard]] bool contains(const Address& at) const { return all_.contains(at.sequence); }

 private:
  std::set<std::uint64_t> all_;
};

}  // namespace dlo::embedded
