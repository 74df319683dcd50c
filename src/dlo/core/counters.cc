#include "dlo/core/counters.h"

#include <algorithm>
#include <array>

#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::array all_counters = {
    CounterName::fetch,
    CounterName::attempt,
    CounterName::failure,
    CounterName::abandon,
    CounterName::retry,
    CounterName::next_retry,
    CounterName::abandon_or_fetch,
};

struct Fact {
  std::string_view name;
  std::uint32_t Counters::* value;
};
constexpr std::array<Fact, 7> facts = {{{"fetch", &Counters::fetch},
                                        {"attempt", &Counters::attempt},
                                        {"failure", &Counters::failure},
                                        {"abandon", &Counters::abandon},
                                        {"retry", &Counters::retry},
                                        {"replay", &Counters::replay},
                                        {"total", &Counters::total}}};

}  // namespace

std::uint64_t value_of(const Counters& counters, CounterName name) noexcept {
  switch (name) {
    case CounterName::fetch:
      return counters.fetch;
    case CounterName::attempt:
      return counters.attempt;
    case CounterName::failure:
      return counters.failure;
    case CounterName::abandon:
      return counters.abandon;
    case CounterName::retry:
      return counters.retry;
    case CounterName::next_retry:
      return std::uint64_t{counters.retry} + 1;
    case CounterName::abandon_or_fetch:
      return std::max(counters.abandon, counters.fetch);
  }
  return 0;
}

std::string_view name_of(CounterName name) noexcept {
  switch (name) {
    case CounterName::fetch:
      return "fetch";
    case CounterName::attempt:
      return "attempt";
    case CounterName::failure:
      return "failure";
    case CounterName::abandon:
      return "abandon";
    case CounterName::retry:
      return "retry";
    case CounterName::next_retry:
      return "next_retry";
    case CounterName::abandon_or_fetch:
      return "abandon_or_fetch";
  }
  return "unknown";
}

std::optional<CounterName> parse_counter_name(std::string_view text) noexcept {
  for (const CounterName name : all_counters) {
    if (name_of(name) == text) return name;
  }
  return std::nullopt;
}

Result<void> set_counter(Counters& counters, std::string_view name, std::uint32_t value) {
  std::array<std::string_view, facts.size()> names;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    names[i] = facts[i].name;
    if (names[i] != name) continue;
    counters.*facts[i].value = value;
    return {};
  }
  return Error{Code::invalid_argument, "core.counters", unknown_name("counter", name, names)};
}

std::string print(const Counters& counters) {
  std::string line;
  for (const Fact& fact : facts) {
    if (!line.empty()) line += ' ';
    line += std::string(fact.name) + '=' + std::to_string(counters.*fact.value);
  }
  return line;
}

}  // namespace dlo
