#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dlo/core/encoding.h"
#include "dlo/core/fingerprint.h"

/// Any bytes as text and as stack give one short group, the same one every time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string once = dlo::normalise(text);
  if (once.size() > dlo::normalised_text_limit || !dlo::is_utf8(once)) std::abort();
  if (dlo::normalise(once) != once) std::abort();

  dlo::Failure failure;
  failure.text = text.substr(0, size / 2);
  failure.stack = text.substr(size / 2);
  const dlo::Fingerprint print = dlo::fingerprint_of(failure, "", "");
  if (print.title.empty() || !dlo::is_utf8(print.title)) std::abort();
  if (print.hash != dlo::fingerprint_of(failure, "", "").hash) std::abort();
  return 0;
}
