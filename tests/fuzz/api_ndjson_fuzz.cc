#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dlo/api/body.h"
#include "dlo/api/queue_bodies.h"

/// Lines are whole, in order and not blank; a batch is read wholly, or refused with the line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto lines = dlo::api::lines_of(text);
  std::size_t last = 0;
  for (const auto& line : lines) {
    if (line.number <= last || line.text.find('\n') != std::string_view::npos) std::abort();
    if (line.text.find_first_not_of(" \t\r") == std::string_view::npos) std::abort();
    last = line.number;
  }
  dlo::api::Request request;
  request.http.headers.push_back({"Content-Type", "application/x-ndjson"});
  request.http.body = text;
  request.now = dlo::TimePoint{dlo::Millis{1'772'366'400'000}};
  const auto messages = dlo::api::read_publications(request);
  if (messages ? messages->size() != lines.size() : !messages.error().detail.starts_with("Line ")) {
    std::abort();
  }
  const auto wishes = dlo::api::read_settle_wishes(request, dlo::Millis{1000});
  if (wishes ? wishes->size() != lines.size() : !wishes.error().detail.starts_with("Line ")) {
    std::abort();
  }
  return 0;
}
