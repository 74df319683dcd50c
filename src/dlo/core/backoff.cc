#include "dlo/core/backoff.h"

#include <algorithm>
#include <cmath>

#include "dlo/core/backoff_expression.h"
#include "dlo/core/duration.h"

namespace dlo {
namespace {

constexpr std::int64_t ceiling = longest_duration.count();

std::int64_t cut(std::int64_t millis) noexcept {
  return std::clamp<std::int64_t>(millis, 0, ceiling);
}

/// The high half of a 64 x 64 bit product.
std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t low = 0xffff'ffff;
  const std::uint64_t mid = (a >> 32) * (b & low) + (((a & low) * (b & low)) >> 32);
  const std::uint64_t cross = (a & low) * (b >> 32) + (mid & low);
  return (a >> 32) * (b >> 32) + (mid >> 32) + (cross >> 32);
}

/// Uniform in [0, most].
std::int64_t spread(std::int64_t most, std::uint64_t random) noexcept {
  return static_cast<std::int64_t>(multiply_high(random, static_cast<std::uint64_t>(most) + 1));
}

std::int64_t linear(std::int64_t base, std::uint64_t number) noexcept {
  if (base == 0) return 0;
  const auto most = static_cast<std::uint64_t>(ceiling / base) + 1;
  return cut(base * static_cast<std::int64_t>(std::min(number, most)));
}

std::int64_t exponential(const RetryPolicy& policy, std::int64_t base,
                         std::uint64_t number) noexcept {
  // A factor below 1 (or NaN) would make waits shrink: it is read as 1. `check` refuses it.
  const double factor = policy.factor >= 1.0 ? policy.factor : 1.0;
  // 10^12 is beyond any retry number, exact in a double, and overflows to infinity as it should.
  const auto steps = static_cast<double>(std::min<std::uint64_t>(number - 1, 1'000'000'000'000));
  const double delay =
      static_cast<double>(base) * std::pow(factor, steps + double{1} * policy.first_exponent);
  if (!(delay < static_cast<double>(ceiling))) return base == 0 ? 0 : ceiling;
  return static_cast<std::int64_t>(delay);
}

std::optional<std::int64_t> custom_delay(const RetryPolicy& policy, std::int64_t base,
                                         std::uint64_t number, const CustomBackoffs& custom) {
  const auto found = custom.find(policy.custom);
  if (found == custom.end() || !found->second) return std::nullopt;
  try {
    return cut(found->second(number).count());
  } catch (...) {
    return base;
  }
}

std::optional<std::int64_t> plain_delay(const RetryPolicy& policy, std::int64_t base,
                                        std::uint64_t number, const CustomBackoffs& custom) {
  switch (policy.kind) {
    case PolicyKind::never:
      return std::nullopt;
    case PolicyKind::immediate:
      return 0;
    case PolicyKind::fixed:
      return base;
    case PolicyKind::linear:
      return linear(base, number);
    case PolicyKind::exponential:
      return exponential(policy, base, number);
    case PolicyKind::list:
      if (policy.delays.empty()) return std::nullopt;
      return cut(policy.delays[std::min<std::uint64_t>(number, policy.delays.size()) - 1].count());
    case PolicyKind::custom:
      return custom_delay(policy, base, number, custom);
    case PolicyKind::expression:
      if (const auto wait = wait_by(policy.expression, number)) return wait->count();
      return std::nullopt;
  }
  return std::nullopt;
}

std::int64_t with_jitter(Jitter jitter, std::int64_t delay, std::int64_t base,
                         std::int64_t previous, std::uint64_t random) noexcept {
  switch (jitter) {
    case Jitter::none:
      return delay;
    case Jitter::full:
      return spread(delay, random);
    case Jitter::equal:
      return delay - delay / 2 + spread(delay / 2, random);
    case Jitter::decorrelated: {
      // Before the first retry nothing was waited: the base stands in, or all would come together.
      const std::int64_t widest = 3 * std::max(base, previous);
      return base + spread(widest - base, random);
    }
  }
  return delay;
}

}  // namespace

std::optional<Millis> delay_before(const RetryPolicy& policy, std::uint64_t retry_number,
                                   Millis previous, std::uint64_t random,
                                   const CustomBackoffs& custom) {
  const std::int64_t cap = policy.cap ? cut(policy.cap->count()) : ceiling;
  const std::int64_t base = std::min(cut(policy.base.count()), cap);
  const auto plain = plain_delay(policy, base, std::max<std::uint64_t>(retry_number, 1), custom);
  if (!plain) return std::nullopt;
  const std::int64_t jittered =
      with_jitter(policy.jitter, std::min(*plain, cap), base, cut(previous.count()), random);
  return Millis{std::min(jittered, cap)};
}

}  // namespace dlo
