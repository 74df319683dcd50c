#pragma once

#include <functional>

#include "dlo/cli/context.h"

namespace dlo::cli {

/// `--watch`: the same again and again, until somebody stops it.
struct WatchArguments {
  bool on = false;
  Millis every{2'000};
};

/// Runs `once`, or runs it for ever if that was asked: on a terminal each time on a clean screen.
int watched(Context& context, const WatchArguments& watch, const std::function<int()>& once);

/// Makes `context.now` the time it is.
void refresh(Context& context);

}  // namespace dlo::cli
