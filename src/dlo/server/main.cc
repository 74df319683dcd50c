#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "dlo/cli/cli.h"
#include "dlo/core/result.h"
#include "dlo/engine/clock.h"

namespace {

std::vector<std::pair<std::string, std::string>> environment_variables() {
  std::vector<std::pair<std::string, std::string>> all;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    all.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return all;
}

/// $VISUAL or $EDITOR, as the shell would run it.
dlo::Result<void> open_editor(const std::string& file) {
  const char* editor = std::getenv("VISUAL");
  if (editor == nullptr || *editor == '\0') editor = std::getenv("EDITOR");
  if (editor == nullptr || *editor == '\0') editor = "vi";
  std::string quoted = "'";
  for (const char c : file) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  if (std::system((std::string(editor) + " " + quoted + "'").c_str()) == 0) return {};
  return dlo::Error{
      dlo::Code::unavailable, "cli.edit",
      std::string("The editor (") + editor +
          ") ended with an error. Set EDITOR to one that works; nothing was changed."};
}

}  // namespace

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
  context.edit = open_editor;
  context.environment = environment_variables();
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 0) {
    context.colour = std::getenv("NO_COLOR") == nullptr;
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) context.width = size.ws_col;
  }
  const int code = cli::run(argc, argv, context);
  std::cout.flush();
  return std::cout.good() ? code : cli::exit_error;
}
