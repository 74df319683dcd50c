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

}  // namespace

PutDocument remember_status(const RecordId& id, Status status) {
  // Whoever held a lease lost it when the record was closed.
  const Status before = carries_lease(status) ? Status::pending : status;
  return {former_kind, to_string(id), std::string(name_of(before)), std::nullopt};
}

std::vector<Change> remember_discard(const RecordId& id, Status status, TimePoint now) {
  PutDocument former = remember_status(id, status);
  *former.body += " " + digits_of(now);
  return {std::move(former),
          PutDocument{discard_kind, digits_of(now) + "-" + to_string(id), "{}", std::nullopt}};
}

Result<Status> former_status(Office& office, const RecordId& id) {
  const auto text = kept(office, id);
  if (!text) return text.error();
  return parse_status(text->substr(0, text->find(' '))).value_or(Status::pending);
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
