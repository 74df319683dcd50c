#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dlo/cli/cli.h"

int main(int argc, char** argv) {
  using namespace dlo;
  std::ios::sync_with_stdio(false);
  cli::Context context{std::cout, std::cerr};
  context.now = std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 0) {
    context.colour = std::getenv("NO_COLOR") == nullptr;
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) context.width = size.ws_col;
  }
  const int code = cli::run(argc, argv, context);
  std::cout.flush();
  return std::cout.good() ? code : cli::exit_error;
}
