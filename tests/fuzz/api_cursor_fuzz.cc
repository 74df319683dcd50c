#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dlo/api/event_feed.h"
#include "dlo/store/query.h"

/// Any bytes are a cursor or none; what is one has a form that is read back as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto cursor = dlo::parse_cursor(text)) {
    if (dlo::parse_cursor(dlo::to_string(*cursor)) != cursor) std::abort();
  }
  if (const auto place = dlo::api::parse_event_place(text)) {
    if (dlo::api::parse_event_place(dlo::api::to_string(*place)) != place) std::abort();
  }
  return 0;
}
