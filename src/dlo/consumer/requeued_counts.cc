#include "dlo/consumer/requeued_counts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "dlo/core/encoding.h"

namespace dlo::consumer {
namespace {

constexpr std::int64_t never = -1;

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

bool read_counters(std::string_view words, Counters& counters) {
  while (!words.empty()) {
    const auto word = words.substr(0, words.find(' '));
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    const auto value = number(word.substr(equals + 1));
    if (!value || *value < 0 || *value > UINT32_MAX) return false;
    if (!set_counter(counters, word.substr(0, equals), static_cast<std::uint32_t>(*value))) {
      return false;
    }
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return true;
}

}  // namespace

RequeuedCounts counts_of(const Failed& failed, const Delivery& delivery, TimePoint now) {
  RequeuedCounts counts;
  counts.counters = failed.counters;
  counts.at = now;
  counts.first_attempt_at = delivery.first_attempt_at;
  counts.previous_delay = failed.delay;
  counts.error = failed.error;
  counts.trail = failed.trail;
  return counts;
}

void go_on(Delivery& delivery, const RequeuedCounts& counts) {
  const std::uint32_t fetched = delivery.counters.fetch;
  if (counts.counters.attempt >= delivery.counters.attempt) {
    delivery.counters = counts.counters;
    delivery.last_error = counts.error;
    delivery.trail = counts.trail;
    delivery.previous_delay = counts.previous_delay;
  }
  const std::uint32_t before = counts.counters.fetch;
  delivery.counters.fetch = std::max(fetched, before == UINT32_MAX ? before : before + 1);
  if (counts.first_attempt_at) delivery.first_attempt_at = counts.first_attempt_at;
}

std::string print(const RequeuedCounts& counts) {
  const std::int64_t first =
      counts.first_attempt_at ? counts.first_attempt_at->time_since_epoch().count() : never;
  return dlo::print(counts.counters) + "\n" + std::to_string(counts.at.time_since_epoch().count()) +
         "\n" + std::to_string(first) + "\n" + std::to_string(counts.previous_delay.count()) +
         "\n" + to_base64(counts.error) + "\n" + to_base64(counts.trail);
}

std::optional<RequeuedCounts> parse_requeued(std::string_view text) {
  std::array<std::string_view, 6> lines;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto end = i + 1 < lines.size() ? text.find('\n') : text.size();
    if (end == std::string_view::npos) return std::nullopt;
    lines[i] = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  RequeuedCounts counts;
  const auto at = number(lines[1]);
  const auto first = number(lines[2]);
  const auto delay = number(lines[3]);
  auto error = from_base64(lines[4]);
  auto trail = from_base64(lines[5]);
  const bool fine =
      read_counters(lines[0], counts.counters) && at && first && delay && error && trail;
  if (!fine) return std::nullopt;
  counts.at = TimePoint{Millis{*at}};
  if (*first != never) counts.first_attempt_at = TimePoint{Millis{*first}};
  counts.previous_delay = Millis{*delay};
  counts.error = std::move(*error);
  counts.trail = std::move(*trail);
  return counts;
}

}  // namespace dlo::consumer
