#include <ostream>

#include "dlo/cli/open_office.h"
#include "dlo/cli/rules.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

std::string named(const Context& context, const std::string& place) {
  return "The office in " + (place.empty() ? "'" + context.data + "'" : place);
}

/// Its name, if it has the format of this program; nothing is changed. Files say so without a key.
Result<std::string> look_at(const Context& context, const OfficeSettings& settings) {
  if (!settings.address.empty()) {
    Opening looking;
    looking.read_only = true;
    const auto opened = open_office(context.data, looking, settings, context.now);
    if (!opened) return opened.error();
    return named(context, opened->place);
  }
  SqliteOptions options;
  options.read_only = true;
  const auto opened = SqliteOffice::open(context.data, options);
  if (!opened) return opened.error();
  return named(context, "");
}

}  // namespace

int migrate(Context& context, const MigrateArguments& arguments) {
  const auto settings = office_settings(context);
  if (!settings) return refuse(context, settings.error());
  const auto as_it_is = look_at(context, *settings);
  if (as_it_is) {
    context.out << *as_it_is << " has the format of this program; there is nothing to do.\n";
    return exit_ok;
  }
  if (as_it_is.error().code != Code::refused) return refuse(context, as_it_is.error());
  context.err << as_it_is.error().detail << "\n";
  if (arguments.dry_run) return exit_partial;
  // Every step is a transaction of its own: whoever is interrupted goes on with the next one.
  const auto opened = open_office(context.data, {}, *settings, context.now);
  if (!opened) return refuse(context, opened.error());
  context.out << named(context, opened->place) << " has the format of this program now.\n";
  return exit_ok;
}

}  // namespace dlo::cli
