#include "dlo/config/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "dlo/core/duration.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

/// Each costs something on every message.
constexpr std::size_t most_places = 64;

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<Unit, 4> units = {
    {{"GB", 1U << 30U}, {"MB", 1U << 20U}, {"KB", 1U << 10U}, {"B", 1}}};

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (text.empty() || problem != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const auto value = whole_number(text.substr(0, text.size() - unit.name.size()));
    if (!value || *value > std::numeric_limits<std::uint64_t>::max() / unit.bytes) {
      return std::nullopt;
    }
    return *value * unit.bytes;
  }
  return whole_number(text);
}

/// 00:00:05, as document 000 writes durations.
std::optional<std::uint64_t> parse_clock(std::string_view text) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hours = whole_number(text.substr(0, 2));
  const auto minutes = whole_number(text.substr(3, 2));
  const auto seconds = whole_number(text.substr(6, 2));
  if (!hours || !minutes || !seconds || *minutes > 59 || *seconds > 59) return std::nullopt;
  return ((*hours * 60 + *minutes) * 60 + *seconds) * 1'000;
}

std::optional<std::uint64_t> parse_span(std::string_view text) {
  if (const auto clock = parse_clock(text)) return clock;
  const auto read = parse_duration(text);
  if (!read) return std::nullopt;
  return static_cast<std::uint64_t>(read->count());
}

std::string written(const ConfigKey& key, std::string_view text) {
  return key.secret ? "what was given" : in_quotes(text);
}

Error refuse(const ConfigKey& key, std::string why) {
  if (!key.hint.empty()) why += "; " + std::string(key.hint);
  return {Code::invalid_argument, "config.value", std::string(key.path) + ": " + why + "."};
}

Result<ConfigValue> read_number(const ConfigKey& key, std::string_view text) {
  std::optional<std::uint64_t> value;
  std::string_view what = "a whole number";
  if (key.kind == ValueKind::count) {
    value = whole_number(text);
  } else if (key.kind == ValueKind::size) {
    value = parse_size(text);
    what = "a size such as 512, 64KB or 8MB";
  } else {
    value = parse_span(text);
    what = "a duration such as 1500ms, 30s or 2h";
  }
  if (!value) {
    return refuse(
        key, written(key, text) + " is not " + std::string(what) + "; allowed: " + bounds_of(key));
  }
  if (*value < key.least || *value > key.most) {
    return refuse(key, written(key, text) + " is out of bounds; allowed: " + bounds_of(key));
  }
  return ConfigValue{print_number(key.kind, *value), *value};
}

Result<ConfigValue> read_choice(const ConfigKey& key, std::string_view text) {
  const auto found =
      std::find_if(key.choices.begin(), key.choices.end(),
                   [&](std::string_view each) { return ascii_lower(each) == ascii_lower(text); });
  if (found != key.choices.end()) return ConfigValue{std::string(*found), 0};
  if (key.choices.size() == 1) {
    return refuse(
        key, written(key, text) + " is not possible, only " + std::string(key.choices.front()));
  }
  return refuse(key, unknown_name("value", text, key.choices));
}

/// Whether it looks like a place in a message; a path is read by those who use it.
bool is_place(std::string_view text) {
  for (const std::string_view prefix : {"header.", "body."}) {
    if (text.starts_with(prefix) && text.size() > prefix.size()) return true;
  }
  return false;
}

Result<ConfigValue> read_places(const ConfigKey& key, std::string_view text) {
  std::string joined;
  const auto places = split_places(text);
  if (places.size() > most_places) {
    return refuse(key, std::to_string(places.size()) + " places are too many; at most " +
                           std::to_string(most_places));
  }
  std::string wrong;
  std::size_t mistakes = 0;
  for (const std::string& place : places) {
    if (!is_place(place)) {
      wrong += (wrong.empty() ? "" : ", ") + in_quotes(place);
      ++mistakes;
    }
    joined += (joined.empty() ? "" : ", ") + place;
  }
  if (mistakes > 0) {
    return refuse(
        key, wrong + (mistakes == 1 ? " is no place in a message" : " are no places in a message") +
                 "; write header.NAME or body.PATH, such as header.authorization or "
                 "body.card.number");
  }
  return ConfigValue{joined, places.size()};
}

}  // namespace

std::vector<std::string> split_places(std::string_view text) {
  std::vector<std::string> places;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view place = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (place.starts_with(' ')) place.remove_prefix(1);
    while (place.ends_with(' ')) place.remove_suffix(1);
    if (!place.empty()) places.emplace_back(place);
  }
  return places;
}

std::string print_number(ValueKind kind, std::uint64_t number) {
  if (kind == ValueKind::duration) return print_duration(Millis{static_cast<std::int64_t>(number)});
  if (kind != ValueKind::size) return std::to_string(number);
  for (const Unit& unit : units) {
    if (number != 0 && number % unit.bytes == 0) {
      return std::to_string(number / unit.bytes) + std::string(unit.bytes == 1 ? "" : unit.name);
    }
  }
  return "0";
}

Result<ListenAddress> parse_address(std::string_view text) {
  const auto colon = text.rfind(':');
  ListenAddress address;
  const std::string_view digits =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  const std::uint64_t port = whole_number(digits).value_or(65'536);
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  if (port > 65'535 || host.empty()) {
    return Error{Code::invalid_argument, "config.address",
                 "'" + std::string(text) + "' is not HOST:PORT. For example: 127.0.0.1:8080"};
  }
  address.host = host;
  address.port = static_cast<std::uint16_t>(port);
  return address;
}

Result<ConfigValue> read_value(const ConfigKey& key, std::string_view text, std::string_view unit) {
  switch (key.kind) {
    case ValueKind::text:
      if (text.empty()) return refuse(key, "it may not be empty");
      return ConfigValue{std::string(text), 0};
    case ValueKind::flag:
      if (text == "true" || text == "false") return ConfigValue{std::string(text), text == "true"};
      return refuse(key, written(key, text) + " is neither true nor false");
    case ValueKind::address: {
      const auto address = parse_address(text);
      if (!address)
        return refuse(key, in_quotes(text) + " is not HOST:PORT, such as 127.0.0.1:8080");
      return ConfigValue{std::string(text), address->port};
    }
    case ValueKind::choice:
      return read_choice(key, text);
    case ValueKind::places:
      return read_places(key, text);
    case ValueKind::count:
    case ValueKind::size:
    case ValueKind::duration: {
      const bool bare = !unit.empty() && whole_number(text).has_value();
      return read_number(key, bare ? std::string(text) + std::string(unit) : std::string(text));
    }
  }
  return refuse(key, "unknown kind");
}

}  // namespace dlo
