#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dlo/core/backoff_expression.h"
#include "dlo/core/duration.h"

/// Any bytes are reckoned or refused with words, for every number of a retry alike; a wait is
/// bounded; what is accepted is accepted again without its blanks, and means the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plain = dlo::check_expression(text);
  if (!plain && plain.error().detail.empty()) std::abort();
  for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7},
                                std::uint64_t{1'000'000'000}, UINT64_MAX}) {
    const auto wait = dlo::wait_by(text, n);
    if (wait.has_value() != bool(plain)) std::abort();
    if (!wait) continue;
    if (*wait < dlo::Millis{0} || *wait > dlo::longest_duration) std::abort();
    if (dlo::wait_by(*plain, n) != wait) std::abort();
  }
  if (plain && *dlo::check_expression(*plain) != *plain) std::abort();
  return 0;
}
