#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dlo/api/target.h"
#include "dlo/core/encoding.h"

namespace {

/// Every byte escaped: there is one way to read this.
std::string escaped(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  return out;
}

}  // namespace

/// Any bytes are an address or refused; an address has no step that could mean another place, and
/// written out again it is the same one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto target = dlo::api::parse_target(text);
  if (!target) return 0;
  std::string again = target->steps.empty() ? "/" : "";
  for (const std::string& step : target->steps) {
    if (step.empty() || step == "." || step == ".." || !dlo::is_utf8(step)) std::abort();
    if (step.find('\0') != std::string::npos) std::abort();
    again += "/" + escaped(step);
  }
  again += "?";
  for (const auto& [name, value] : target->query) {
    again += escaped(name) + "=" + escaped(value) + "&";
  }
  const auto same = dlo::api::parse_target(again);
  if (!same || same->steps != target->steps || same->query != target->query) std::abort();
  return 0;
}
