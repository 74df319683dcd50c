#include "dlo/store/rules.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dlo/core/acts.h"

namespace dlo {
namespace {

constexpr const char* where = "office.apply";

std::string name(Status status) {
  return "`" + std::string(name_of(status)) + "`";
}

std::string version_text(std::uint64_t version) {
  return "version " + std::to_string(version);
}

Result<void> check_transition(const DeadLetter& record, const std::optional<Lease>& lease,
                              const Transition& t) {
  if (t.lease && !(is_live(lease, t.now) && lease->token == *t.lease)) {
    return Error{Code::lease_lost, where,
                 "the lease given is not the live one; nothing was changed. Whoever holds the "
                 "record now will settle it: drop this outcome"};
  }
  if (t.expected_version) {
    if (auto fine = check_version(record, *t.expected_version); !fine) return fine;
  }
  if (t.to != record.status && !is_legal(record.status, t.to)) {
    return Error{Code::conflict, where,
                 "it is " + name(record.status) + ", and no step leads from there to " +
                     name(t.to) + ". docs/states.md shows the legal steps"};
  }
  if (t.lease_for && !t.lease && is_live(lease, t.now)) {
    return Error{Code::conflict, where,
                 "somebody else holds a lease on it. Wait until that one is settled or has ended"};
  }
  return {};
}

std::optional<Lease> lease_after(const DeadLetter& record, const std::optional<Lease>& lease,
                                 const Transition& t, const LeaseToken& fresh) {
  if (t.lease_for) {
    if (t.lease) return renewed(*lease, t.now, *t.lease_for);
    return Lease{fresh, lease_end(t.now, *t.lease_for)};
  }
  const bool in_place = !t.lease && t.to == record.status;
  return in_place ? lease : std::nullopt;
}

template <typename T, typename U>
void set(T& field, const std::optional<U>& value) {
  if (value) field = *value;
}

}  // namespace

void touch(DeadLetter& record, std::uint64_t change) noexcept {
  ++record.version;
  record.change = change;
}

Result<void> check_version(const DeadLetter& record, std::uint64_t expected) {
  if (record.version == expected) return {};
  return Error{Code::conflict, where,
               "it is at " + version_text(record.version) + ", not at " + version_text(expected) +
                   ": somebody changed it meanwhile. Read it again, then decide again"};
}

Result<void> check_document(const std::optional<std::uint64_t>& version,
                            const std::optional<std::uint64_t>& expected) {
  if (!expected || version.value_or(0) == *expected) return {};
  if (*expected == 0) {
    return Error{Code::conflict, where,
                 "it exists already, at " + version_text(*version) + ", and was to be created"};
  }
  return Error{Code::conflict, where,
               (version ? "it is at " + version_text(*version) : std::string("it does not exist")) +
                   ", not at " + version_text(*expected) + ": read it again, then decide again"};
}

Result<void> check_removable(const DeadLetter& record) {
  if (record.status == Status::discarded || record.status == Status::expired) return {};
  return Error{Code::conflict, where,
               "it is " + name(record.status) +
                   ", and only discarded and expired records are removed: discard it first"};
}

bool is_live(const std::optional<Lease>& lease, TimePoint now) noexcept {
  return lease && is_live(*lease, now);
}

TimePoint lease_end(TimePoint now, Millis lease_for) noexcept {
  constexpr Millis latest = Millis::max();
  const Millis since = now.time_since_epoch();
  if (lease_for > Millis{0} && since > latest - lease_for) return TimePoint{latest};
  return now + lease_for;
}

Lease renewed(const Lease& lease, TimePoint now, Millis lease_for) noexcept {
  return {lease.token, std::max(lease.until, lease_end(now, lease_for))};
}

Result<Standing> apply_transition(const DeadLetter& record, const std::optional<Lease>& lease,
                                  const Transition& transition, const LeaseToken& fresh,
                                  std::uint64_t change) {
  if (const auto fine = check_transition(record, lease, transition); !fine) return fine.error();
  Standing next{record, lease_after(record, lease, transition, fresh)};
  if (carries_lease(transition.to) && !next.lease && transition.to != record.status) {
    return Error{Code::invalid_argument, where,
                 name(transition.to) + " exists only under a lease: give `lease_for`"};
  }
  DeadLetter& out = next.record;
  const bool comes_back = is_closed(record.status) && is_open(transition.to);
  if (comes_back) out.resolution.reset();
  // A message whose retry succeeded goes from waiting to resolved and never was a dead letter.
  if (is_open(transition.to)) out.died = true;
  out.status = transition.to;
  set(out.counters, transition.counters);
  set(out.failure, transition.failure);
  if (transition.failure && *transition.failure != Failure{}) {
    out.last_failed_at = transition.now;
    if (!out.first_failed_at) out.first_failed_at = transition.now;
  }
  set(out.reason, transition.reason);
  set(out.description, transition.description);
  set(out.category, transition.category);
  set(out.rule, transition.rule);
  set(out.policy, transition.policy);
  set(out.limit, transition.limit);
  set(out.fingerprint, transition.fingerprint);
  if (transition.clear_next_retry) out.next_retry_at.reset();
  set(out.next_retry_at, transition.next_retry_at);
  set(out.resolution, transition.resolution);
  set(out.tags, transition.tags);
  set(out.died_at, transition.died_at);
  touch(out, change);
  return next;
}

AppendEffect effect_of(const DeadLetter* existing, const DeadLetter& incoming) {
  std::optional<Existing> met;
  if (existing != nullptr) met = existing_of(*existing);
  return append_effect(met, arrival_of(incoming));
}

DeadLetter inserted(const DeadLetter& incoming, std::int64_t number, std::uint64_t change) {
  DeadLetter record = incoming;
  record.number = number;
  record.version = 0;
  record.died = !is_live(record.status);
  touch(record, change);
  return record;
}

namespace {

std::vector<std::string> joined(std::vector<std::string> all,
                                const std::vector<std::string>& more) {
  for (const std::string& each : more) {
    if (std::find(all.begin(), all.end(), each) == all.end()) all.push_back(each);
  }
  return all;
}

}  // namespace

DeadLetter reopened(const DeadLetter& existing, const DeadLetter& incoming, std::uint64_t change) {
  DeadLetter record = incoming;
  record.occurrence = next_occurrence(existing_of(existing), arrival_of(incoming));
  record.number = existing.number;
  record.version = existing.version;
  record.died = !is_live(record.status);
  // Whoever reports it may not know that it was sent back: without this no replay would be one too
  // many.
  const std::string how = existing.resolution ? existing.resolution->how : std::string();
  if (was_sent_back(existing.status, how)) {
    record.counters.replay = std::max(record.counters.replay, existing.counters.replay);
  }
  record.tags = joined(existing.tags, incoming.tags);
  touch(record, change);
  return record;
}

namespace {

void begin_versions(std::vector<Version>& versions, const DeadLetter& record) {
  if (!versions.empty()) return;
  versions.push_back({0, record.message->headers, record.message->payload, record.died_at, "", ""});
}

}  // namespace

std::vector<Version> versions_after_reopening(std::vector<Version> versions,
                                              const DeadLetter& before, const DeadLetter& after) {
  const Headers& headers = versions.empty() ? before.message->headers : versions.back().headers;
  const auto& payload = versions.empty() ? before.message->payload : versions.back().payload;
  if (headers == after.message->headers && payload == after.message->payload) return versions;
  begin_versions(versions, before);
  versions.push_back({versions.back().number + 1, after.message->headers, after.message->payload,
                      after.died_at, "", "occurrence " + std::to_string(after.occurrence)});
  return versions;
}

std::vector<Version> versions_after_edit(std::vector<Version> versions, const DeadLetter& record,
                                         const AddVersion& edit) {
  begin_versions(versions, record);
  versions.push_back(
      {versions.back().number + 1, edit.headers, edit.payload, edit.at, edit.by, edit.why});
  return versions;
}

bool is_claimable(Status status) noexcept {
  return status == Status::waiting || status == Status::pending;
}

bool is_due(const DeadLetter& record, const std::optional<Lease>& lease, TimePoint now) noexcept {
  return is_claimable(record.status) && record.next_retry_at && *record.next_retry_at <= now &&
         !is_live(lease, now);
}

Standing claimed(const DeadLetter& record, const Lease& lease, std::uint64_t change) {
  Standing next{record, lease};
  if (record.status == Status::pending) next.record.status = Status::retrying;
  if (next.record.counters.fetch < std::numeric_limits<std::uint32_t>::max()) {
    ++next.record.counters.fetch;
  }
  touch(next.record, change);
  return next;
}

bool is_changed_by_taking_back(Status status) noexcept {
  return status == Status::retrying;
}

DeadLetter taken_back(const DeadLetter& record, std::uint64_t change) {
  DeadLetter next = record;
  if (!is_changed_by_taking_back(record.status)) return next;
  next.status = Status::pending;
  touch(next, change);
  return next;
}

void keep_attempt(std::vector<Attempt>& oldest_first, Attempt attempt) {
  oldest_first.push_back(std::move(attempt));
  if (oldest_first.size() > attempts_kept) {
    const auto surplus = static_cast<std::ptrdiff_t>(oldest_first.size() - attempts_kept);
    oldest_first.erase(oldest_first.begin() + 1, oldest_first.begin() + 1 + surplus);
  }
}

Result<void> check_lease_for(Millis lease_for) {
  if (lease_for > Millis{0}) return {};
  return Error{Code::invalid_argument, "office.lease",
               "a lease must last longer than " + std::to_string(lease_for.count()) +
                   " ms: give a positive `lease_for`"};
}

}  // namespace dlo
