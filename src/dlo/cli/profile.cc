#include "dlo/core/profile.h"

#include <ostream>

#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/caution.h"

namespace dlo::cli {
namespace {

bool is_recommended(const Profile& profile) {
  return recommended_name(profile.name) == profile.name;
}

}  // namespace

int profile_list(Context& context) {
  if (is_for_people(context)) {
    Table table({{"NAME"}, {"LIMIT", Align::right}, {"RETRY"}, {"WHAT IT IS", Align::left, true}});
    for (const Profile& each : builtin_profiles()) {
      table.add({each.name + (is_recommended(each) ? " *" : ""), std::to_string(each.limit),
                 print(each.retry), each.summary});
    }
    print(context, table);
    context.err << "* recommended. The others keep to the letter of their documents, losses "
                   "included.\n";
    return exit_ok;
  }
  Rows rows(context, {"name", "limit", "retry", "summary", "recommended"});
  for (const Profile& each : builtin_profiles()) {
    rows.add({each.name, std::to_string(each.limit), print(each.retry), each.summary,
              recommended_name(each.name)});
  }
  rows.end();
  return exit_ok;
}

int profile_show(Context& context, const std::string& name) {
  const auto found = find_profile(name);
  if (!found) return fail(context, found.error());
  context.out << print(*found);
  if (const auto said = caution(*found, name); !said.empty()) {
    context.err << "dlo: " << said << "\n";
  }
  return exit_ok;
}

}  // namespace dlo::cli
