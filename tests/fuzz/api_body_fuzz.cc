#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dlo/api/body.h"
#include "dlo/api/queue_bodies.h"
#include "dlo/api/queue_settings.h"
#include "dlo/api/report_reading.h"

namespace {

constexpr dlo::TimePoint now{dlo::Millis{1'772'366'400'000}};

template <typename T>
void check(const dlo::Result<T>& result) {
  if (!result && result.error().detail.empty()) std::abort();  // nobody would know what to do
}

/// Reads it member by member, as every resource does.
void read_settings(std::string_view text) {
  check(dlo::api::read_object(
      text, [](dlo::JsonFields& fields) { (void)dlo::api::read_queue_settings(fields, "q"); }));
}

}  // namespace

/// Any bytes are a JSON body or refused with words, whoever reads them; what is taken holds what
/// its reader promises.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = dlo::api::read_report(text, now);
  check(report);
  if (report && (report->report.message->source.empty() || report->profile.empty())) std::abort();
  dlo::api::Request request;
  request.http.headers.push_back({"Content-Type", "application/json"});
  request.http.body = std::string(text);
  request.now = now;
  const auto wishes = dlo::api::read_settle_wishes(request, dlo::Millis{1000});
  check(wishes);
  if (wishes && wishes->size() != 1) std::abort();
  read_settings(text);
  return 0;
}
