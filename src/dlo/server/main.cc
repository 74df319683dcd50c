#include <cstdlib>
#include <iostream>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

#include "dlo/cli/cli.h"
#include "dlo/engine/clock.h"

int main(int argc, char** argv) {
  using namespace dlo;
  std::ios::sync_with_stdio(false);
  cli::Context context{std::cout, std::cerr};
  const SystemClock clock;
  context.clock = &clock;
  context.now = clock.now();
  context.in = &std::cin;
  context.asks = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
  context.pause = [](Millis length) { std::this_thread::sleep_for(length); };
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 0) {
    context.colour = std::getenv("NO_COLOR") == nullptr;
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) context.width = size.ws_col;
  }
  const int code = cli::run(argc, argv, context);
  std::cout.flush();
  return std::cout.good() ? code : cli::exit_error;
}
