#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dlo/collector/letter.h"
#include "dlo/core/encoding.h"

namespace {

constexpr dlo::TimePoint now{dlo::Millis{1'772'366'400'000}};

bool is_fine(const dlo::collector::Letter& letter) {
  const auto readable = [](const std::string& text) { return dlo::is_utf8(text); };
  const bool told = !letter.failure.type.empty() || !letter.failure.text.empty();
  const bool times = (!letter.first_failed_at || *letter.first_failed_at <= now) &&
                     (!letter.last_failed_at || *letter.last_failed_at <= now);
  return told && times && letter.attempts >= 1 && letter.attempts <= 1'000'000 &&
         readable(letter.failure.type) && readable(letter.failure.text) &&
         readable(letter.failure.stack) && readable(letter.queue) && readable(letter.exchange);
}

}  // namespace

/// Any bytes under any of the names become a letter that can be kept and shown.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const dlo::collector::Place place{"dead", "", now};
  for (const dlo::HeaderType type : {dlo::HeaderType::structured, dlo::HeaderType::text}) {
    if (!is_fine(read_letter({{"x-death", text, type}}, place))) std::abort();
  }
  dlo::Headers all;
  for (const char* name :
       {"x-exception-message", "x-exception-stacktrace", "retry-count", "MT-Fault-Message",
        "MT-Fault-InputAddress", "MT-Fault-Timestamp", "MT-Fault-RetryCount", "NServiceBus.FailedQ",
        "NServiceBus.TimeOfFailure", "NServiceBus.Retries", "NServiceBus.EnclosedMessageTypes"}) {
    all.push_back({name, text, dlo::HeaderType::text});
    if (!is_fine(read_letter({all.back()}, place))) std::abort();
  }
  if (!is_fine(read_letter(all, place))) std::abort();
  return 0;
}
