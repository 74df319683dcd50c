#include "dlo/query/ranges.h"

#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "dlo/core/duration.h"
#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"

namespace dlo::query {
namespace {

Error refusal(std::string detail) {
  return {Code::invalid_argument, "query.parse", std::move(detail)};
}

/// What one literal stands for: a number, a moment or a whole day. `first <= value < end`.
struct Span {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

using Literal = Result<Span> (*)(std::string_view text);

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Held at the ends of time instead of overflowing.
std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
  if (b > 0 && a > most - b) return most;
  if (b < 0 && a < least - b) return least;
  return a + b;
}

Result<Span> number(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ptr != end || read.ec != std::errc{}) {
    return refusal("expected a whole number up to 4294967295, found " + in_quotes(text));
  }
  return Span{value, std::int64_t{value} + 1};
}

Result<Span> duration(std::string_view text) {
  const auto read = parse_duration(text);
  if (!read) {
    std::string why = read.error().detail;
    if (why.ends_with('.')) why.pop_back();  // whoever quotes this ends the sentence
    return refusal("expected a duration: " + why);
  }
  return Span{read->count(), read->count() + 1};
}

constexpr std::int64_t day = 86'400'000;

Result<Span> moment(std::string_view text) {
  if (text.size() == 10) {
    if (const auto begin = parse_iso8601(std::string(text) + "T00:00:00Z")) {
      const std::int64_t first = begin->time_since_epoch().count();
      return Span{first, first + day};
    }
  }
  if (const auto time = parse_iso8601(text)) {
    const std::int64_t first = time->time_since_epoch().count();
    return Span{first, sum(first, 1)};
  }
  return refusal(
      "expected a date, a time or a duration, such as 2026-03-01, 2026-03-01T12:30:00Z "
      "or 2d, found " +
      in_quotes(text));
}

Result<Bounds<std::int64_t>> two_ends(std::string_view text, std::size_t dots, Literal literal) {
  const std::string_view low = text.substr(0, dots);
  const std::string_view high = text.substr(dots + 2);
  if (low.empty() && high.empty()) return refusal("expected a range with an end, such as 1..5");
  Bounds<std::int64_t> bounds;
  if (!low.empty()) {
    const auto span = literal(low);
    if (!span) return span.error();
    bounds.first = span->first;
  }
  if (!high.empty()) {
    const auto span = literal(high);
    if (!span) return span.error();
    bounds.end = span->end;
  }
  if (bounds.first && bounds.end && *bounds.first >= *bounds.end) {
    return refusal("the range " + in_quotes(text) +
                   " ends before it begins: write the smaller end "
                   "first");
  }
  return bounds;
}

Result<Bounds<std::int64_t>> bounds_of(const Value& value, Literal literal) {
  const std::size_t dots = value.op == Op::none ? value.text.find("..") : std::string::npos;
  if (dots != std::string::npos) return two_ends(value.text, dots, literal);
  const auto span = literal(value.text);
  if (!span) return span.error();
  switch (value.op) {
    case Op::none:
      return Bounds<std::int64_t>{span->first, span->end};
    case Op::more:
      return Bounds<std::int64_t>{span->end, std::nullopt};
    case Op::more_or_equal:
      return Bounds<std::int64_t>{span->first, std::nullopt};
    case Op::less:
      return Bounds<std::int64_t>{std::nullopt, span->first};
    case Op::less_or_equal:
      return Bounds<std::int64_t>{std::nullopt, span->end};
  }
  return refusal("expected a range");
}

TimePoint at(std::int64_t millis) noexcept {
  return TimePoint{Millis{millis}};
}

bool is_date(std::string_view text) noexcept {
  const std::size_t sign = text.starts_with('+') || text.starts_with('-') ? 1 : 0;
  return text.find('-', sign) != std::string_view::npos;
}

}  // namespace

Result<Bounds<std::uint64_t>> number_bounds(const Value& value) {
  const auto bounds = bounds_of(value, number);
  if (!bounds) return bounds.error();
  Bounds<std::uint64_t> out;
  if (bounds->first) out.first = static_cast<std::uint64_t>(*bounds->first);
  if (bounds->end) out.end = static_cast<std::uint64_t>(*bounds->end);
  return out;
}

Result<Bounds<TimePoint>> duration_bounds(const Value& value, TimePoint now, Direction direction) {
  const bool is_range = value.op != Op::none || value.text.find("..") != std::string::npos;
  const auto bounds = bounds_of(value, duration);
  if (!bounds) return bounds.error();
  if (!is_range) {
    return refusal("nothing is exactly " + in_quotes(value.text) +
                   " away: expected >, >=, < or <= "
                   "before it, or a range such as 1d..3d");
  }
  const std::int64_t from = now.time_since_epoch().count();
  Bounds<TimePoint> out;
  if (direction == Direction::ahead) {
    if (bounds->first) out.first = at(sum(from, *bounds->first));
    if (bounds->end) out.end = at(sum(from, *bounds->end));
    return out;
  }
  // A longer distance back is an earlier time, so the ends change places.
  if (bounds->end) out.first = at(sum(from, 1 - *bounds->end));
  if (bounds->first) out.end = at(sum(from, 1 - *bounds->first));
  return out;
}

Result<Bounds<TimePoint>> time_bounds(const Value& value, TimePoint now, Direction direction) {
  const bool starts_with_digit =
      !value.text.empty() && value.text.front() >= '0' && value.text.front() <= '9';
  const bool looks_like_duration =
      !is_date(value.text) && (starts_with_digit || value.text.starts_with(".."));
  if (looks_like_duration) return duration_bounds(value, now, direction);
  const auto bounds = bounds_of(value, moment);
  if (!bounds) return bounds.error();
  Bounds<TimePoint> out;
  if (bounds->first) out.first = at(*bounds->first);
  if (bounds->end) out.end = at(*bounds->end);
  return out;
}

}  // namespace dlo::query
