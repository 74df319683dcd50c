#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dlo/query/query_text.h"
#include "dlo/query/suggest.h"
#include "dlo/store/rules.h"

/// Any bytes are a query or refused with a column; a query is accepted by offices and survives
/// being printed; suggestions never point outside of the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const dlo::TimePoint now{dlo::Millis{1'772'366'400'000}};
  const auto query = dlo::parse_query(text, now);
  if (!query) {
    if (!query.error().detail.starts_with("column ")) std::abort();
  } else {
    if (!dlo::check(*query)) std::abort();
    const std::string printed = dlo::print_query(*query);
    const auto again = dlo::parse_query(printed, now + dlo::Millis{12'345});
    if (printed.size() <= dlo::longest_query_text && (!again || !(*again == *query))) std::abort();
  }
  dlo::Aggregate numbers;
  numbers.tallies = {{"orders", dlo::Status::pending, "network", 3}, {"a \"b", {}, "", 1}};
  const std::size_t cursor = size == 0 ? 0 : data[0];
  const auto found = dlo::suggest(text, cursor, numbers);
  if (found.from > found.to || found.to > size) std::abort();
  return 0;
}
