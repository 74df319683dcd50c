#include "dlo/core/caution.h"

#include <algorithm>

#include "dlo/core/spelling.h"

namespace dlo {

std::vector<std::string> risks_of(const Profile& profile) {
  std::vector<std::string> all;
  if (profile.invalid == InvalidAction::drop) all.emplace_back("invalid messages are dropped");
  if (profile.store_failure == StoreFailure::memory_fallback) {
    all.emplace_back("a failure the office cannot take is refused, not kept");
  }
  if (profile.placement == Placement::hold) {
    all.emplace_back("a message that waits holds its whole partition");
  }
  if (!profile.crash_counts) all.emplace_back("crashes are not counted as failures");
  if (!profile.invalid_keeps_count) all.emplace_back("invalid messages lose their count");
  if (profile.first_attempt == FirstAttempt::estimated) {
    all.emplace_back("the time of the first attempt is a guess");
  }
  if (profile.retry.kind == PolicyKind::immediate) {
    all.emplace_back("what failed is tried again at once");
  }
  return all;
}

std::string caution(const Profile& profile, std::string_view name) {
  const auto recommended = find_profile(recommended_name(name));
  if (!recommended || recommended->name == name) return {};
  const auto without = risks_of(*recommended);
  std::string risks;
  for (const std::string& risk : risks_of(profile)) {
    if (std::find(without.begin(), without.end(), risk) != without.end()) continue;
    risks += (risks.empty() ? "" : "; ") + risk;
  }
  if (risks.empty()) return {};
  return in_quotes(recommended->name) + " is recommended. " + in_quotes(name) +
         " keeps to its document: " + risks + ".";
}

}  // namespace dlo
