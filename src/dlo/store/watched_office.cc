#include "dlo/store/watched_office.h"

#include <algorithm>
#include <utility>

namespace dlo {
namespace {

bool is_trouble(Code code) noexcept {
  return code == Code::corrupt || code == Code::full || code == Code::unavailable;
}

/// A merge is refused as full when its group is: the office has room.
bool may_be_a_full_group(std::span<const Change> changes) {
  return std::any_of(changes.begin(), changes.end(), [](const Change& change) {
    return std::holds_alternative<MergeGroups>(change);
  });
}

}  // namespace

void WatchedOffice::met(const Error& error) {
  if (!is_trouble(error.code)) return;
  {
    const std::lock_guard lock(mutex_);
    if (trouble_ && (trouble_->code == error.code || trouble_->code == Code::corrupt)) return;
    trouble_ = error;
  }
  if (told_) told_(error);
}

void WatchedOffice::wrote() {
  {
    const std::lock_guard lock(mutex_);
    if (!trouble_ || trouble_->code == Code::corrupt) return;
    trouble_.reset();
  }
  if (told_) told_(std::nullopt);
}

std::optional<Error> WatchedOffice::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

Result<std::vector<Applied>> WatchedOffice::apply(std::span<const Change> changes) {
  auto applied = inner_.apply(changes);
  if (applied) {
    if (!changes.empty()) wrote();
  } else if (applied.error().code != Code::full || !may_be_a_full_group(changes)) {
    met(applied.error());
  }
  return applied;
}

Result<RecordDetail> WatchedOffice::get(const RecordId& id) {
  return watched(inner_.get(id));
}

Result<Page> WatchedOffice::list(const Query& query) {
  return watched(inner_.list(query));
}

Result<Aggregate> WatchedOffice::aggregate(const AggregateRequest& request) {
  return watched(inner_.aggregate(request));
}

Result<std::vector<Claim>> WatchedOffice::claim(std::size_t limit, TimePoint now, Millis lease_for,
                                                const ClaimFrom& from) {
  return watched(inner_.claim(limit, now, lease_for, from));
}

Result<std::vector<bool>> WatchedOffice::renew(std::span<const LeaseToken> leases, TimePoint now,
                                               Millis lease_for) {
  return watched(inner_.renew(leases, now, lease_for));
}

Result<std::vector<ChangeNote>> WatchedOffice::changes_since(std::uint64_t after,
                                                             std::size_t limit) {
  return watched(inner_.changes_since(after, limit));
}

}  // namespace dlo
