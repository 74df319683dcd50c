#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dlo/core/redact.h"

/// Redaction takes any bytes, and a second pass finds nothing left to hide.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string once = dlo::redact(text);
  if (once.size() > text.size() * 3 + 3) std::abort();
  if (dlo::redact(once) != once) std::abort();
  return 0;
}
