#include <charconv>
#include <ostream>
#include <string>

#include "dlo/cli/acts.h"
#include "dlo/cli/client.h"
#include "dlo/cli/editing.h"
#include "dlo/cli/table.h"
#include "dlo/core/duration.h"
#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"
#include "dlo/jobs/replay_target.h"

namespace dlo::cli {
namespace {

/// "5%" or "5".
Result<std::uint64_t> percent_of(const std::string& text) {
  std::uint64_t value = 101;
  const char* end = text.data() + text.size() - (text.ends_with('%') ? 1 : 0);
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end && value <= 100) return value;
  return Error{Code::invalid_argument, "cli.replay",
               "--stop-if-fail is a share such as 5%, not " + in_quotes(text) + "."};
}

/// "NAME=VALUE" each.
Result<std::vector<std::pair<std::string, std::string>>> pairs_of(
    const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{Code::invalid_argument, "cli.replay",
                   "--set-header is NAME=VALUE, not " + in_quotes(text) + "."};
    }
    pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return pairs;
}

/// "2026-03-01T02:00:00Z", or "2h": from now.
Result<std::optional<TimePoint>> moment_of(const std::string& text, TimePoint now) {
  if (text.empty()) return std::optional<TimePoint>();
  if (const auto length = parse_duration(text)) return std::optional(now + *length);
  if (const auto time = parse_iso8601(text)) return time;
  return Error{Code::invalid_argument, "cli.replay",
               "--at is a moment such as 2026-03-01T02:00:00Z or a time from now such as 2h, not " +
                   in_quotes(text) + "."};
}

void write_options(JsonWriter& json, const ReplayArguments& arguments) {
  if (!arguments.to.empty()) json.member("target", arguments.to);
  if (arguments.canary > 0) json.member("canary", arguments.canary);
  if (!arguments.watch.empty()) json.member("watch", arguments.watch);
  if (arguments.max_replays > 0) json.member("most_replays", arguments.max_replays);
  if (arguments.quarantined_too) json.key("quarantined_too").boolean(true);
  if (arguments.again) json.key("again").boolean(true);
  if (arguments.concurrency > 0) json.member("concurrency", arguments.concurrency);
  if (!arguments.order.empty()) json.member("order", arguments.order);
  if (arguments.strip.empty()) return;
  json.key("strip").begin_array();
  for (const std::string& each : arguments.strip) json.text(each);
  json.end_array();
}

/// Executors are a server's: without one nobody would run anything.
Result<void> check_target(const Context& context, const std::string& target) {
  if (!is_executor(target)) return {};
  const auto client = connect(context, Need::look);
  if (!client) return client.error();
  if ((*client)->is_server()) return {};
  return Error{Code::invalid_argument, "cli.replay",
               "--to " + target + " is an executor, and those are a server's: `executors` in its " +
                   "configuration. No server works in '" + context.data +
                   "'. Start one (dlo serve --config FILE --data " + context.data +
                   "), or name one with --server URL; nothing was done."};
}

}  // namespace

int replay(Context& context, const ReplayArguments& arguments) {
  const auto ids = ids_of(context, arguments.bulk);
  if (!ids) return refuse(context, ids.error());
  if (ids->empty() && !arguments.bulk.ids.empty()) return nothing_came(context);
  if (auto fine = check_target(context, arguments.to); !fine) return refuse(context, fine.error());
  const auto share = percent_of(arguments.stop_if_fail.empty() ? "5%" : arguments.stop_if_fail);
  if (!share) return refuse(context, share.error());
  if (arguments.canary == 0 && !arguments.stop_if_fail.empty()) {
    return refuse(context, {Code::invalid_argument, "cli.replay",
                            "--stop-if-fail needs --canary N: without one everything is sent "
                            "before the first outcome is known. Nothing was sent."});
  }
  const auto headers = pairs_of(arguments.set_headers);
  if (!headers) return refuse(context, headers.error());
  const auto recipe = recipe_json(context, arguments.recipe, arguments.patch);
  if (!recipe) return refuse(context, recipe.error());
  const auto at = moment_of(arguments.at, context.now);
  if (!at) return refuse(context, at.error());
  const auto options = [&](JsonWriter& json) {
    if (arguments.canary > 0) json.member("success_percent", 100 - *share);
    write_options(json, arguments);
    if (!headers->empty()) {
      json.key("set_headers").begin_object();
      for (const auto& [name, value] : *headers) json.member(name, value);
      json.end_object();
    }
    if (!recipe->empty()) json.key("recipe").raw(*recipe);
    if (*at) json.member("at", **at);
  };
  const bool in_turn = arguments.canary > 0 || arguments.order == "key";
  return run_bulk(context, "replay", arguments.bulk, *ids, options, in_turn);
}

}  // namespace dlo::cli
