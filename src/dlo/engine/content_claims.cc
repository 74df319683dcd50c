#include "dlo/engine/content_claims.h"

#include "dlo/core/identity.h"

namespace dlo {
namespace {

/// Somebody else may have got what we lost. Beyond this, what comes again is kept twice.
constexpr std::size_t most_free = 64 * 1024;

}  // namespace

bool ContentClaims::claim(const RecordId& record) {
  const std::lock_guard lock(mutex_);
  return claimed_.insert(record).second;
}

void ContentClaims::used(const RecordId& record) {
  const std::lock_guard lock(mutex_);
  claimed_.erase(record);
}

void ContentClaims::lost(const Message& message, const RecordId& record) {
  const std::lock_guard lock(mutex_);
  // Not used yet: the office has it among those whose source is unsettled.
  if (claimed_.erase(record) > 0 || free_.size() >= most_free) return;
  free_.emplace(identify(message), record);
}

std::optional<RecordId> ContentClaims::take(const Message& message) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::nullopt;
  const auto found = free_.find(identify(message));
  if (found == free_.end()) return std::nullopt;
  const RecordId record = found->second;
  free_.erase(found);
  return record;
}

}  // namespace dlo
