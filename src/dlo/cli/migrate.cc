#include <ostream>

#include "dlo/cli/open_office.h"
#include "dlo/cli/rules.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {

int migrate(Context& context, const MigrateArguments& arguments) {
  const auto settings = vault_settings(context);
  if (!settings) return refuse(context, settings.error());
  SqliteOptions looking;
  looking.read_only = true;
  const auto as_it_is = SqliteOffice::open(context.data, looking);
  if (as_it_is) {
    context.out << "The office in '" << context.data
                << "' has the format of this program; there is nothing to do.\n";
    return exit_ok;
  }
  if (as_it_is.error().code != Code::refused) return refuse(context, as_it_is.error());
  context.err << as_it_is.error().detail << "\n";
  if (arguments.dry_run) return exit_partial;
  // Every step is a transaction of its own: whoever is interrupted goes on with the next one.
  const auto opened = open_office(context.data, {}, *settings, context.now);
  if (!opened) return refuse(context, opened.error());
  context.out << "The office in '" << context.data << "' has the format of this program now.\n";
  return exit_ok;
}

}  // namespace dlo::cli
