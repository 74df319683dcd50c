#include "dlo/jobs/former.h"

#include <charconv>
#include <cstdio>

namespace dlo {
namespace {

constexpr std::size_t time_digits = 16;

/// Sorts by time.
std::string digits_of(TimePoint time) {
  char text[24];
  std::snprintf(text, sizeof text, "%0*lld", static_cast<int>(time_digits),
                static_cast<long long>(time.time_since_epoch().count()));
  return text;
}

std::optional<TimePoint> parse_digits(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return TimePoint{Millis{value}};
}

Result<std::string> kept(Office& office, const RecordId& id) {
  Ledger* ledger = office.extras().ledger;
  if (ledger == nullptr) return std::string();
  const auto found = ledger->document(former_kind, to_string(id));
  if (!found) return found.error();
  return *found ? (*found)->body : std::string();
}

/// "archived,resolved,pending 0001767225600000": the way back, nearest first; since when, if
/// discarded.
std::string_view way_in(const std::string& text) {
  return std::string_view(text).substr(0, text.find(' '));
}

std::string_view first_of(std::string_view way) {
  return way.substr(0, way.find(','));
}
std::string_view rest_of(std::string_view way) {
  const auto comma = way.find(',');
  return comma == std::string_view::npos ? std::string_view() : way.substr(comma + 1);
}

/// Whoever held a lease, or waited for the outcome of a replay, gave up when the record was closed.
Status standing(Status status) noexcept {
  return carries_lease(status) || status == Status::replayed ? Status::pending : status;
}

/// `status` and whatever a record in that status goes back to. What leads in a circle is cut off.
Result<std::string> way_back(Office& office, const RecordId& id, Status status) {
  std::string way(name_of(standing(status)));
  if (is_open(status)) return way;
  const auto text = kept(office, id);
  if (!text) return text.error();
  std::string_view before = way_in(*text);
  for (std::string_view left = before; !left.empty(); left = rest_of(left)) {
    if (first_of(left) == name_of(status)) before = rest_of(left);
  }
  if (!before.empty()) way.append(",").append(before);
  return way;
}

std::vector<Change> discarded_since(const RecordId& id, const std::string& way, TimePoint now) {
  return {PutDocument{former_kind, to_string(id), way + " " + digits_of(now), std::nullopt},
          PutDocument{discard_kind, digits_of(now) + "-" + to_string(id), "{}", std::nullopt}};
}

}  // namespace

Result<Change> remember_status(Office& office, const RecordId& id, Status status) {
  auto way = way_back(office, id, status);
  if (!way) return way.error();
  return Change(PutDocument{former_kind, to_string(id), std::move(*way), std::nullopt});
}

Result<std::vector<Change>> remember_discard(Office& office, const RecordId& id, Status status,
                                             TimePoint now) {
  auto way = way_back(office, id, status);
  if (!way) return way.error();
  return discarded_since(id, *way, now);
}

Result<std::vector<Change>> note_discard(Office& office, const RecordId& id, TimePoint now) {
  const auto text = kept(office, id);
  if (!text) return text.error();
  const std::string way(text->empty() ? name_of(Status::pending) : way_in(*text));
  return discarded_since(id, way, now);
}

Result<Former> former_of(Office& office, const RecordId& id, Status status) {
  const auto text = kept(office, id);
  if (!text) return text.error();
  Former former;
  if (text->empty()) return former;
  std::string_view way = way_in(*text);
  // Offices of before this was a way: whoever is back at `resolved` goes on to where all begins.
  if (first_of(way) == name_of(status)) way = rest_of(way);
  former.status = standing(parse_status(first_of(way)).value_or(Status::pending));
  std::optional<std::string> rest;
  if (!rest_of(way).empty()) rest = std::string(rest_of(way));
  former.changes.emplace_back(
      PutDocument{former_kind, to_string(id), std::move(rest), std::nullopt});
  return former;
}

Result<std::optional<TimePoint>> discarded_at(Office& office, const RecordId& id) {
  const auto text = kept(office, id);
  if (!text) return text.error();
  const auto blank = text->find(' ');
  if (blank == std::string::npos) return std::optional<TimePoint>();
  return parse_digits(std::string_view(*text).substr(blank + 1));
}

std::optional<DiscardEntry> parse_discard_key(const std::string& key) {
  if (key.size() <= time_digits || key[time_digits] != '-') return std::nullopt;
  const auto at = parse_digits(std::string_view(key).substr(0, time_digits));
  const auto id = parse_id(std::string_view(key).substr(time_digits + 1));
  if (!at || !id) return std::nullopt;
  return DiscardEntry{*at, RecordId{*id}};
}

}  // namespace dlo
