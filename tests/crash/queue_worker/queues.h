#pragma once

#include <chrono>
#include <string>

#include "dlo/broker/source_options.h"

namespace dlo::testing {

inline constexpr std::chrono::seconds remembered{20};  // ids, for dedupe

/// "jobs" is worked on and keeps its dead, "spill" is moved there, "junk" is purged.
inline SourceOptions queue_of_the_worker(const std::string& name) {
  SourceOptions options;
  options.source = name;
  if (name == "jobs") options.dedupe_window = remembered;
  return options;
}
inline bool keeps_its_dead(const std::string& name) {
  return name == "jobs";
}

}  // namespace dlo::testing
