#include "dlo/cli/context.h"

#include <ostream>

#include "dlo/cli/open_office.h"
#include "dlo/store/office.h"

namespace dlo::cli {

int fail(Context& context, const Error& error) {
  context.err << "dlo: " << error.detail << "\n";
  return exit_error;
}

int refuse(Context& context, const Error& error) {
  fail(context, error);
  if (error.code == Code::invalid_argument) return exit_usage;
  return error.code == Code::not_found ? exit_nothing_matched : exit_error;
}

Result<std::unique_ptr<Office>> open_for_reading(const Context& context) {
  Opening looking;
  looking.read_only = true;
  const auto settings = office_settings(context);
  if (!settings) return settings.error();
  auto opened = open_office(context.data, looking, *settings, context.now);
  if (opened) return std::move(opened->office);
  Error error = opened.error();
  if (error.code == Code::not_found && settings->address.empty()) {
    error.detail = "There is no office in '" + context.data +
                   "'. Name the directory with --data DIR, or start one: dlo serve --data " +
                   context.data;
  }
  return error;
}

std::string relative(TimePoint when, TimePoint now) {
  const Millis gap = when > now ? when - now : now - when;
  if (gap < Millis{1000}) return "now";
  struct Unit {
    const char* name;
    std::int64_t millis;
  };
  constexpr Unit units[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}};
  std::string text;
  std::int64_t left = gap.count();
  int parts = 0;
  for (const Unit& unit : units) {
    const std::int64_t count = left / unit.millis;
    if (count == 0 && parts == 0) continue;
    if (count > 0) text += (text.empty() ? "" : " ") + std::to_string(count) + unit.name;
    left %= unit.millis;
    if (++parts == 2) break;
  }
  return when > now ? "in " + text : text + " ago";
}

}  // namespace dlo::cli
