#include "dlo/core/profile.h"

#include <ostream>

#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"

namespace dlo::cli {

int profile_list(Context& context) {
  if (is_for_people(context)) {
    Table table({{"NAME"}, {"LIMIT", Align::right}, {"RETRY"}, {"WHAT IT IS", Align::left, true}});
    for (const Profile& each : builtin_profiles()) {
      table.add({each.name, std::to_string(each.limit), print(each.retry), each.summary});
    }
    print(context, table);
    return exit_ok;
  }
  Rows rows(context, {"name", "limit", "retry", "summary"});
  for (const Profile& each : builtin_profiles()) {
    rows.add({each.name, std::to_string(each.limit), print(each.retry), each.summary});
  }
  rows.end();
  return exit_ok;
}

int profile_show(Context& context, const std::string& name) {
  const auto found = find_profile(name);
  if (!found) return fail(context, found.error());
  context.out << print(*found);
  return exit_ok;
}

}  // namespace dlo::cli
