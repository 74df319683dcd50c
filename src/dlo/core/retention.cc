#include "dlo/core/retention.h"

#include <algorithm>
#include <limits>

namespace dlo {
namespace {

bool covers(const RetentionRule& rule, Status status) noexcept {
  if (rule.status == "open") return is_open(status);
  if (rule.status == "closed") return is_closed(status);
  return rule.status == name_of(status);
}

bool may(Status status, RetentionAct act) noexcept {
  const Status to = status_after(act);
  return to != status && is_legal(status, to);
}

bool is_out_of_reach(Status status) noexcept {
  return is_live(status) || carries_lease(status);
}

TimePoint counted_from(const RetentionTimes& times, const RetentionRule& rule) noexcept {
  const bool early = rule.from == RetentionFrom::first_failure && rule.act == RetentionAct::archive;
  return early ? times.failed_at : times.touched_at;
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a > std::numeric_limits<std::uint64_t>::max() - b
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

double percent(std::uint64_t used, const std::optional<std::uint64_t>& limit) noexcept {
  if (!limit) return 0.0;
  if (*limit == 0) return 100.0;
  return static_cast<double>(used) * 100.0 / static_cast<double>(*limit);
}

}  // namespace

RetentionTimes retention_times(const DeadLetter& record) noexcept {
  RetentionTimes times;
  times.failed_at = record.first_failed_at.value_or(record.died_at);
  times.touched_at = std::max(record.died_at, record.last_failed_at.value_or(record.died_at));
  if (record.resolution) times.touched_at = std::max(times.touched_at, record.resolution->at);
  times.expires_at = record.expires_at;
  return times;
}

std::optional<RetentionAct> due(std::span<const RetentionRule> rules, Status status,
                                const RetentionTimes& times, TimePoint now) noexcept {
  if (is_out_of_reach(status)) return std::nullopt;
  if (times.expires_at && now >= *times.expires_at && may(status, RetentionAct::expire)) {
    return RetentionAct::expire;
  }
  for (const RetentionRule& rule : rules) {
    if (!covers(rule, status) || !may(status, rule.act)) continue;
    if (now - counted_from(times, rule) > rule.age) return rule.act;
  }
  return std::nullopt;
}

std::optional<TimePoint> due_at(std::span<const RetentionRule> rules, Status status,
                                const RetentionTimes& times) noexcept {
  if (is_out_of_reach(status)) return std::nullopt;
  std::optional<TimePoint> first;
  const auto take = [&](TimePoint when) { first = first ? std::min(*first, when) : when; };
  if (times.expires_at && may(status, RetentionAct::expire)) take(*times.expires_at);
  for (const RetentionRule& rule : rules) {
    if (!covers(rule, status) || !may(status, rule.act)) continue;
    take(counted_from(times, rule) + rule.age + Millis{1});
  }
  return first;
}

Status status_after(RetentionAct act) noexcept {
  switch (act) {
    case RetentionAct::archive:
      return Status::archived;
    case RetentionAct::discard:
      return Status::discarding;
    case RetentionAct::expire:
      return Status::expired;
  }
  return Status::archived;
}

Room room_for(const Capacity& capacity, const Usage& used, std::uint64_t size) noexcept {
  const Usage with{sum(used.records, 1), sum(used.bytes, size)};
  if (capacity.records && with.records > *capacity.records) return Room::none;
  if (capacity.bytes && with.bytes > *capacity.bytes) return Room::none;
  return utilisation(capacity, with) > little_room_percent ? Room::little : Room::enough;
}

std::uint64_t places_left(const Capacity& capacity, const Usage& used) noexcept {
  if (!capacity.records) return UINT64_MAX;
  return *capacity.records - std::min(*capacity.records, used.records);
}

double utilisation(const Capacity& capacity, const Usage& used) noexcept {
  return std::max(percent(used.records, capacity.records), percent(used.bytes, capacity.bytes));
}

}  // namespace dlo
