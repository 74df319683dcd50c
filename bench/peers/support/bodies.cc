#include "peers/support/bodies.h"

#include <charconv>
#include <cstdint>
#include <system_error>

#include "peers/support/failure.h"

namespace dlo::peers {
namespace {

constexpr std::size_t digits = 16;
constexpr std::size_t text_size = 4 << 20;
constexpr std::size_t stride = 7919;  // prime: neighbours start at unrelated places of the text

}  // namespace

Bodies::Bodies(std::size_t size) : size_(size) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::uint64_t state = 88172645463325252U;
  text_.reserve(text_size + size);
  while (text_.size() < text_size + size) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    for (unsigned shift = 0; shift < 60; shift += 6) text_ += alphabet[(state >> shift) & 63U];
  }
}

std::string_view Bodies::text_of(long number) const {
  const auto start = static_cast<std::size_t>(number) * stride % text_size;
  return std::string_view{text_}.substr(start, size_ - digits);
}

void Bodies::write(long number, std::string& into) const {
  into.assign(digits, '0');
  auto rest = static_cast<std::uint64_t>(number);
  for (std::size_t at = digits; rest > 0; rest /= 10) {
    into[--at] = static_cast<char>('0' + rest % 10);
  }
  into += text_of(number);
}

long Bodies::number_of(std::string_view body) const {
  long number = -1;
  const char* const end = body.data() + digits;
  if (body.size() != size_) {
    fail("a body of " + std::to_string(body.size()) + " bytes came back, not of " +
         std::to_string(size_));
  }
  const auto parsed = std::from_chars(body.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end || number < 0 ||
      body.substr(digits) != text_of(number)) {
    fail("a body came back changed; it begins with " + std::string{body.substr(0, shortest)});
  }
  return number;
}

Receipts::Receipts(const Bodies& bodies, long sent)
    : bodies_(bodies), seen_(static_cast<std::size_t>(sent)) {}

long Receipts::take(std::string_view body) {
  const long number = bodies_.number_of(body);
  const auto at = static_cast<std::size_t>(number);
  if (at >= seen_.size()) fail("message " + std::to_string(number) + " came but was never sent");
  if (seen_[at].exchange(true)) fail("message " + std::to_string(number) + " came twice");
  ++count_;
  return number;
}

}  // namespace dlo::peers
