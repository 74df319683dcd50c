#include "dlo/consumer/requeued_counts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "dlo/core/encoding.h"

namespace dlo::consumer {
namespace {

constexpr std::int64_t never = -1;
constexpr std::uint32_t most_interruptions = 1'000;  // that anybody would sit through

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

void interrupt(Delivery& delivery, std::uint32_t attempt) {
  Counters& counters = delivery.counters;
  if (attempt <= counters.attempt) return;
  const std::uint32_t untold = std::min(attempt - counters.attempt, most_interruptions);
  for (std::uint32_t i = 0; i < untold; ++i) counters = with_start(counters);
  counters.fetch = std::max(counters.fetch, counters.attempt + 1);
  delivery.interrupted = true;
  delivery.interruptions += untold;
}

std::string print(const RequeuedCounts& counts) {
  const std::int64_t first =
      counts.first_attempt_at ? counts.first_attempt_at->time_since_epoch().count() : never;
  return dlo::print(counts.counters) + "\n" + std::to_string(counts.at.time_since_epoch().count()) +
         "\n" + std::to_string(first) + "\n" + std::to_string(counts.previous_delay.count()) +
         "\n" + to_base64(counts.error) + "\n" + to_base64(counts.trail) +
         (counts.started == 0 ? "" : "\n" + std::to_string(counts.started));
}

std::optional<RequeuedCounts> parse_requeued(std::string_view text) {
  std::array<std::string_view, 7> lines;  // the last only if it was begun
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto stop = i + 1 < lines.size() ? text.find('\n') : text.size();
    if (stop == std::string_view::npos && i + 2 < lines.size()) return std::nullopt;
    const auto end = std::min(stop, text.size());
    lines[i] = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  RequeuedCounts counts;
  const auto at = number(lines[1]);
  const auto first = number(lines[2]);
  const auto delay = number(lines[3]);
  auto error = from_base64(lines[4]);
  auto trail = from_base64(lines[5]);
  const auto started = lines[6].empty() ? std::optional<std::int64_t>(0) : number(lines[6]);
  const bool fine = read_counters(lines[0], counts.counters) && at && first && delay && error &&
                    trail && started && *started >= 0 && *started <= UINT32_MAX;
  if (!fine) return std::nullopt;
  counts.started = static_cast<std::uint32_t>(*started);
  counts.at = TimePoint{Millis{*at}};
  if (*first != never) counts.first_attempt_at = TimePoint{Millis{*first}};
  counts.previous_delay = Millis{*delay};
  counts.error = std::move(*error);
  counts.trail = std::move(*trail);
  return counts;
}

}  // namespace dlo::consumer
