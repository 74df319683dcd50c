#include "dlo/core/profile.h"

#include <ostream>

#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"

namespace dlo::cli {

int profile_list(Context& context) {
  Table table({{"NAME"}, {"LIMIT", Align::right}, {"RETRY"}, {"WHAT IT IS", Align::left, true}});
  for (const Profile& profile : builtin_profiles()) {
    if (context.format == Format::id) {
      context.out << profile.name << "\n";
      continue;
    }
    table.add({profile.name, std::to_string(profile.limit), print(profile.retry), profile.summary});
  }
  if (context.format == Format::csv) {
    table.print_csv(context.out);
  } else if (context.format != Format::id) {
    table.print(context.out, context.format == Format::wide ? 0 : context.width);
  }
  return exit_ok;
}

int profile_show(Context& context, const std::string& name) {
  const auto found = find_profile(name);
  if (!found) return fail(context, found.error());
  context.out << print(*found);
  return exit_ok;
}

}  // namespace dlo::cli
