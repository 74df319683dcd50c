#include "dlo/core/strategy.h"

#include <algorithm>
#include <array>

namespace dlo {
namespace {

/// S2-27: what waiting can cure.
constexpr auto curable = std::to_array<std::string_view>({"transient", "network", "resource"});

std::string_view skip_counter(std::string_view category) noexcept {
  if (category == "permission") return "skipped_permission";
  if (category == "validation") return "skipped_validation";
  return "skipped_permanent";
}

IntakeDecision kept_out(Skips skips, std::string_view counter, std::string why) {
  if (skips == Skips::record) {
    why += "; recorded all the same, and not retried";
    return {Intake::record_not_retried, counter, std::move(why)};
  }
  why += "; not recorded: the caller keeps it";
  return {Intake::skip, counter, std::move(why)};
}

}  // namespace

IntakeDecision admits(Strategy strategy, std::string_view category, Skips skips, bool requested) {
  if (strategy == Strategy::disabled) {
    return kept_out(skips, "skipped_disabled", "strategy disabled keeps no failures");
  }
  if (requested) return {Intake::enqueue, "manually_enqueued", ""};
  switch (strategy) {
    case Strategy::automatic:
      return {Intake::enqueue, "enqueued", ""};
    case Strategy::selective: {
      if (std::ranges::find(curable, category) != curable.end()) {
        return {Intake::enqueue, "enqueued", ""};
      }
      return kept_out(skips, skip_counter(category),
                      "strategy selective keeps transient, network and resource failures, not " +
                          std::string(category.empty() ? "unclassified" : category));
    }
    case Strategy::manual:
      return kept_out(skips, "skipped_manual", "strategy manual keeps only what is asked for");
    case Strategy::disabled:
      break;
  }
  return kept_out(Skips::record, "skipped_disabled", "unknown strategy");
}

}  // namespace dlo
