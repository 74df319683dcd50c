#pragma once

#include <string>

#include "dlo/config/config.h"

namespace dlo {

/// Everything that is wrong, a line each: "LINE: text".
inline std::string problems_of(const ConfigReading& reading) {
  std::string all;
  for (const auto& each : reading.problems) {
    all += std::to_string(each.line) + ": " + each.text + "\n";
  }
  return all;
}

}  // namespace dlo
