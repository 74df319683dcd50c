#pragma once

#include "dlo/cli/context.h"

namespace dlo::cli {

/// Parses the command line and runs one verb. `context` brings streams, time and terminal.
int run(int argc, const char* const* argv, Context& context);

}  // namespace dlo::cli
