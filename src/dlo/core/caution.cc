#include "dlo/core/caution.h"

#include "dlo/core/duration.h"
#include "dlo/core/spelling.h"
#include "dlo/core/states.h"
#include "dlo/core/strategy.h"

namespace dlo {
namespace {

void add_lost_reports(const Profile& profile, std::vector<std::string>& all) {
  if (profile.store_failure == StoreFailure::memory_fallback) {
    all.emplace_back(
        "a failure the office cannot take is kept in memory only (store_failure: memory_fallback)");
  }
  if (profile.skips == Skips::lose && profile.strategy != Strategy::automatic) {
    all.push_back("failures that its strategy does not want are not kept (strategy: " +
                  std::string(name_of(profile.strategy)) + ")");
  }
  for (const auto& [name, category] : profile.categories) {
    if (category.action != Action::reject_to_caller) continue;
    all.push_back("failures of category " + name + " are not kept (action: reject_to_caller)");
  }
}

void add_early_removals(const Profile& profile, std::vector<std::string>& all) {
  for (const RetentionRule& rule : profile.retention) {
    const auto status = parse_status(rule.status);
    const bool open = rule.status == "open" || (status && is_open(*status));
    if (!open || rule.act == RetentionAct::archive) continue;
    all.push_back("its rule removes dead letters that nobody dealt with after " +
                  print_duration(rule.age) + ", though none is removed here yet (retention of " +
                  rule.status + ": " + std::string(name_of(rule.act)) + ")");
  }
}

}  // namespace

std::vector<std::string> risks_of(const Profile& profile) {
  std::vector<std::string> all;
  if (profile.invalid == InvalidAction::drop) {
    all.emplace_back("invalid messages are dropped (invalid: drop)");
  }
  add_lost_reports(profile, all);
  add_early_removals(profile, all);
  if (profile.placement == Placement::hold) {
    all.emplace_back(
        "its rule lets a message that waits hold its whole partition, though queues here hold its "
        "key at most (placement: hold)");
  }
  if (!profile.crash_counts) {
    all.emplace_back("crashes are not counted as failures (crash_counts: false)");
  }
  if (!profile.invalid_keeps_count) {
    all.emplace_back("invalid messages lose their count (invalid_keeps_count: false)");
  }
  if (profile.first_attempt == FirstAttempt::estimated) {
    all.emplace_back("the time of the first attempt is a guess (first_attempt: estimated)");
  }
  // Where somebody asks for each retry, it is for him to wait.
  const bool on_its_own = profile.owner_effect != OwnerEffect::permanently_failed;
  if (on_its_own && profile.retry.kind == PolicyKind::immediate) {
    all.emplace_back("what failed is tried again at once (retry: immediate)");
  }
  return all;
}

std::string caution(const Profile& profile, std::string_view base) {
  std::string risks;
  for (const std::string& risk : risks_of(profile)) risks += (risks.empty() ? "" : "; ") + risk;
  if (risks.empty()) return {};
  const std::string_view from = base.empty() ? std::string_view(profile.name) : base;
  const std::string better = recommended_name(from);
  std::string text = better == from ? "" : in_quotes(better) + " is recommended. ";
  if (better != from && from == profile.name) {
    return text + in_quotes(from) + " keeps to its document: " + risks + ".";
  }
  return text + "With " + in_quotes(profile.name) + ", " + risks + ".";
}

}  // namespace dlo
