#pragma once

#include <memory>
#include <string>

#include "dlo/broker/own_queues.h"
#include "dlo/cli/context.h"
#include "dlo/cli/open_office.h"
#include "dlo/core/instant.h"

namespace dlo {
class Config;
}

namespace dlo::cli {

struct OpenedQueues {
  std::unique_ptr<OwnQueues> queues;
  std::string place;      // for people; empty: the data directory
  const char* kept = "";  // what a stop in good order can promise of all that was acknowledged
};

/// Where the configuration wants them: in the data directory, or in the database of the office.
/// What opening had to cut off is told on the error stream, and with `tells_trouble` what happens
/// to them later, too: `context` must live that long.
[[nodiscard]] Result<OpenedQueues> open_queues(const Context& context, const Config& config,
                                               const OpenedOffice& opened, Instant now,
                                               bool tells_trouble);

}  // namespace dlo::cli
