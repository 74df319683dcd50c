#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dlo/config/config.h"
#include "dlo/regex/re2_compiler.h"

/// Any bytes are a configuration or refused with reasons; what was taken can be shown, and every
/// profile in it decides.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reading = dlo::read_config({text, {}, dlo::re2_compiler()});
  for (const auto& problem : reading.problems) {
    if (problem.text.empty()) std::abort();
  }
  const auto shown = dlo::show_config(reading.config, "f", true);
  if (shown.empty()) std::abort();
  if (!reading.problems.empty()) return 0;
  for (const auto& [path, line] : reading.config.sections) {
    if (path.starts_with("profiles.") && !reading.config.rules.find(path.substr(9))) std::abort();
    if (line == 0) std::abort();
  }
  return 0;
}
