#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dlo/core/backoff.h"
#include "dlo/core/profile.h"
#include "dlo/core/text_tree.h"

/// Any bytes are read or refused with words; whatever is accepted reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profile = dlo::parse_profile(text);
  if (profile) {
    const auto again = dlo::parse_profile(dlo::print(*profile));
    if (!again || !(*again == *profile)) std::abort();
  } else if (profile.error().detail.empty()) {
    std::abort();
  }
  if (const auto policy = dlo::parse_policy(text)) {
    const auto again = dlo::parse_policy(dlo::print(*policy));
    if (!again || !(*again == *policy)) std::abort();
    const auto wait = dlo::delay_before(*policy, size, dlo::Millis{0}, size * 0x9E3779B97F4A7C15);
    if (wait && *wait < dlo::Millis{0}) std::abort();
  }
  return 0;
}
