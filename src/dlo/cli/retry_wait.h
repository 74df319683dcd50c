#pragma once

#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/context.h"

namespace dlo::cli {

/// Asks for a retry of each, waits until those runs are over and says of each whether it worked,
/// and if not why (S2-21). Exit code: whether all did.
int retry_and_wait(Context& context, Client& client, const std::vector<std::string>& ids,
                   const std::string& body);

}  // namespace dlo::cli
