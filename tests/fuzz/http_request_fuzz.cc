#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dlo/server/request_parser.h"

namespace {

const dlo::ParserLimits limits{1024, 8, 4096};

struct Outcome {
  dlo::RequestParser::State state = dlo::RequestParser::State::more;
  std::string said;
  bool operator==(const Outcome&) const = default;
};

std::string words_of(const dlo::HttpRequest& request) {
  std::string text = request.method + " " + request.target + "\n";
  for (const auto& header : request.headers) text += header.name + ": " + header.value + "\n";
  return text + "\n" + request.body;
}

/// Reads the first request, `step` bytes at a time, as they would come from a socket.
Outcome read(std::string_view bytes, std::size_t step) {
  dlo::RequestParser parser(limits);
  Outcome outcome;
  std::string pending;
  while (!bytes.empty() && outcome.state == dlo::RequestParser::State::more) {
    const std::size_t some = std::min(step, bytes.size());
    pending += bytes.substr(0, some);
    bytes.remove_prefix(some);
    std::string_view left = pending;
    outcome.state = parser.feed(left);
    pending.erase(0, pending.size() - left.size());
    if (parser.body_size() > limits.body_bytes) std::abort();
    if (parser.request().headers.size() > limits.header_count) std::abort();
    if (pending.size() > limits.header_bytes + step) std::abort();  // it must not pile up
  }
  if (outcome.state == dlo::RequestParser::State::refused) {
    outcome.said = std::to_string(parser.refusal().status);
  } else if (outcome.state == dlo::RequestParser::State::done) {
    outcome.said = words_of(parser.take());
  }
  return outcome;
}

}  // namespace

/// Any bytes are a request, the beginning of one, or refused; however they are cut into pieces,
/// what is accepted is the same request, and memory stays within the limits.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = read(bytes, std::max<std::size_t>(bytes.size(), 1));
  const Outcome pieces = read(bytes, 1 + data[0] % 64U);
  const auto done = dlo::RequestParser::State::done;
  if ((whole.state == done) != (pieces.state == done)) std::abort();
  if (whole.state == done && whole.said != pieces.said) std::abort();
  return 0;
}
