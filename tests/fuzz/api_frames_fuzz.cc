#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dlo/api/message_frames.h"
#include "dlo/api/queue_bodies.h"

/// Any bytes are frames or refused; frames written again are the same bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto frames = dlo::api::read_frames(bytes);
  if (frames) {
    std::string again;
    for (const auto& frame : *frames) dlo::api::append_frame(again, frame.head, frame.payload);
    if (again != bytes) std::abort();
  }
  dlo::api::Request request;
  request.http.headers.push_back({"Content-Type", std::string(dlo::api::frames_type)});
  request.http.body = bytes;
  const auto messages = dlo::api::read_publications(request);
  if (messages && (!frames || messages->size() != frames->size())) std::abort();
  const auto settled = dlo::api::read_settlements(bytes);
  if (settled && settled->size() * 17 != size) std::abort();
  return 0;
}
