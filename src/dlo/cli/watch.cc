#include "dlo/cli/watch.h"

#include <ostream>

#include "dlo/engine/clock.h"

namespace dlo::cli {
namespace {

constexpr const char* clear_screen = "\x1b[H\x1b[2J\x1b[3J";

}  // namespace

void refresh(Context& context) {
  if (context.clock != nullptr) context.now = context.clock->now();
}

int watched(Context& context, const WatchArguments& watch, const std::function<int()>& once) {
  if (!watch.on) return once();
  for (bool first = true;; first = false) {
    refresh(context);
    if (context.width > 0) {
      context.out << clear_screen;
    } else if (!first) {
      context.out << "\n";
    }
    const int code = once();
    context.out << std::flush;
    // A question that is wrong stays wrong, and nobody is there to read on if the pipe is closed.
    if (code == exit_usage || !context.out || !context.pause) return code;
    if (code == exit_error) context.err << "Trying again; stop with Ctrl-C." << std::endl;
    context.pause(watch.every);
  }
}

}  // namespace dlo::cli
