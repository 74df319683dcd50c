#include "dlo/broker/source_options.h"

namespace dlo {
namespace {

Error wrong(const SourceOptions& options, const std::string& what) {
  return {Code::invalid_argument, "source.options",
          "source \"" + options.source + "\" is not opened: " + what};
}

}  // namespace

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
  return {};
}

}  // namespace dlo
