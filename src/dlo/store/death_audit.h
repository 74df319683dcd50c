#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/store/change.h"

namespace dlo {

inline constexpr std::string_view death_act = "die";

/// What the audit trail is told of those who die without anybody's act: how many, of which source,
/// and the digest of their ids, so that one that is taken out of the office later shows. One entry
/// for a whole list of changes, because what is automatic costs per batch (R25).
class DeathToll {
 public:
  /// Counts the change if somebody dies by it.
  void add(const Change& change);
  /// None if nobody did.
  [[nodiscard]] std::optional<AddAudit> entry(const std::string& actor, TimePoint now) const;

 private:
  std::vector<RecordId> ids_;
  std::set<std::string> sources_;
};

/// Adds the entry for all of `changes` at their end.
void add_death_audit(std::vector<Change>& changes, const std::string& actor, TimePoint now);

/// As such an entry has it: of the ids in ascending order, each as its 32 digits.
[[nodiscard]] std::string digest_of_ids(std::vector<RecordId> ids);

}  // namespace dlo
