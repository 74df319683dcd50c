#pragma once

#include <cstdint>
#include <string>

#include "dlo/cli/context.h"
#include "dlo/cli/selection.h"

namespace dlo::cli {

struct RuleArguments {
  std::string id;
  std::string profile;  // instead of the one it went by
  Selection selection;
  std::uint64_t sample = 1'000;
};
/// What the rules say of a dead letter now, step by step.
int rule_test(Context& context, const RuleArguments& arguments);
/// What the rules as they are now would say of many.
int rule_simulate(Context& context, const RuleArguments& arguments);

struct SourceArguments {
  std::string source;
  bool yes = false;
};
int source_list(Context& context, const SourceArguments& arguments);
int source_show(Context& context, const SourceArguments& arguments);
int source_pause(Context& context, const SourceArguments& arguments, bool paused);
int source_test(Context& context, const SourceArguments& arguments);
/// What waits for a source that nobody runs any more becomes dead letters.
int source_give_up(Context& context, const SourceArguments& arguments);

struct MigrateArguments {
  bool dry_run = false;
};
/// Brings the office in the data directory to the format of this program.
int migrate(Context& context, const MigrateArguments& arguments);

}  // namespace dlo::cli
