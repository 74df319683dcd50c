#include <array>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <termios.h>
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

/// Single keys of a terminal, which is as it was before when this ends.
class Keyboard {
 public:
  Keyboard() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  ~Keyboard() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  /// One key; those with names come as a few bytes at once. Whoever hung up pressed `q`.
  std::string next(dlo::Millis patience) {
    if (unread_.empty()) {
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (::poll(&input, 1, static_cast<int>(patience.count())) <= 0) return {};
      std::array<char, 64> bytes{};
      const auto size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (size <= 0) return "q";
      unread_.assign(bytes.data(), static_cast<std::size_t>(size));
    }
    const bool named = unread_.size() >= 3 && unread_[0] == '\x1b' && unread_[1] == '[';
    const std::string key = unread_.substr(0, named ? 3 : 1);
    unread_.erase(0, key.size());
    return key;
  }

 private:
  termios before_{};
  bool changed_ = false;
  std::string unread_;
};

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
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
      context.width = size.ws_col;
      context.height = size.ws_row;
    }
  }
  std::optional<Keyboard> keyboard;  // only for verbs that ask for keys
  if (::isatty(STDIN_FILENO) != 0) {
    context.key = [&keyboard](Millis patience) {
      if (!keyboard) keyboard.emplace();
      return keyboard->next(patience);
    };
  }
  const int code = cli::run(argc, argv, context);
  std::cout.flush();
  return std::cout.good() ? code : cli::exit_error;
}
