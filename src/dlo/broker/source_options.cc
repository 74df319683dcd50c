#include "dlo/broker/source_options.h"

#include <optional>
#include <string>

namespace dlo {
namespace {

Error wrong(const SourceOptions& options, const std::string& what) {
  return {Code::invalid_argument, "source.options",
          "source \"" + options.source + "\" is not opened: " + what};
}

Result<void> check_limit(const SourceOptions& options, std::optional<std::uint64_t> limit,
                         std::uint64_t here, std::uint64_t more, const std::string& unit,
                         const char* where) {
  if (!limit || more == 0 || (more <= *limit && here <= *limit - more)) return {};
  const bool never = more > *limit;
  return Error{never ? Code::invalid_argument : Code::full, where,
               "source \"" + options.source + "\" holds " + std::to_string(here) + " " + unit +
                   " of at most " + std::to_string(*limit) + "; there is no room for " +
                   std::to_string(more) + " more and none of them was taken; " +
                   (never ? "send fewer at once or raise max_"
                          : "try again when consumers have made room, or raise max_") +
                   unit};
}

}  // namespace

std::string_view name_of(OnDeath on_death) noexcept {
  return on_death == OnDeath::hold ? "hold" : "continue";
}

std::optional<OnDeath> parse_on_death(std::string_view text) noexcept {
  for (const OnDeath each : {OnDeath::go_on, OnDeath::hold}) {
    if (name_of(each) == text) return each;
  }
  return std::nullopt;
}

Result<void> check_room(const SourceOptions& options, const Load& here, const Load& more,
                        const char* where) {
  auto ok =
      check_limit(options, options.max_messages, here.messages, more.messages, "messages", where);
  if (ok) ok = check_limit(options, options.max_bytes, here.bytes, more.bytes, "bytes", where);
  return ok;
}

Result<void> check(const SourceOptions& options) {
  if (options.max_messages && *options.max_messages == 0) {
    return wrong(options, "max_messages 0 would refuse everything; leave it out for no limit");
  }
  if (options.max_bytes && *options.max_bytes == 0) {
    return wrong(options, "max_bytes 0 would refuse everything; leave it out for no limit");
  }
  if (options.dedupe_window < Millis{0}) {
    return wrong(options, "dedupe_window is negative; 0 turns it off");
  }
  if (options.ageing < Millis{0}) {
    return wrong(options, "ageing is negative; 0 makes all priorities equal");
  }
  if (options.ttl && *options.ttl <= Millis{0}) {
    return wrong(options, "ttl must be at least 1 ms; leave it out for messages that never expire");
  }
  if (options.on_death == OnDeath::hold && !options.keys_in_order) {
    return wrong(options,
                 "on_death: hold keeps the order of keys beyond a death, and keys_in_order is "
                 "false; set that to true, or on_death to continue");
  }
  return {};
}

}  // namespace dlo
