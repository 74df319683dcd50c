#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {
class Clock;
class Office;
}  // namespace dlo

namespace dlo::cli {

/// What every verb answers to the shell.
enum Exit : int {
  exit_ok = 0,
  exit_error = 1,
  exit_usage = 2,
  exit_partial = 3,          // some of it worked
  exit_nothing_matched = 4,  // a question without an answer, such as an empty list
};

enum class Format : std::uint8_t { table, wide, json, ndjson, csv, id };

/// What a verb may touch: no verb reads the environment, a clock or the terminal by itself.
struct Context {
  std::ostream& out;
  std::ostream& err;
  TimePoint now{};
  bool colour = false;    // only on a terminal
  std::size_t width = 0;  // columns of the terminal; 0: not a terminal, do not cut
  static constexpr const char* usual_data = "dlo-data";
  std::string data = usual_data;
  Format format = Format::table;
  bool data_named = false;       // `data` was said on the command line
  std::string server{};          // http://HOST:PORT; empty: the office in `data`
  std::string token{};           // what the server asks for; never printed
  std::string token_file{};      // its first line is the token
  std::string ca_file{};         // who vouches for the server, if not the system's authorities
  const Clock* clock = nullptr;  // null: the machine's, moving
  std::istream* in = nullptr;    // null: nothing to read
  bool asks = false;             // somebody sits there who can be asked
  std::function<Result<void>(const std::string& file)> edit{};  // lets somebody; null: nobody there
  std::function<void(Millis)> pause{};  // how to let time pass; null: nothing waits
  /// The key somebody pressed, as the terminal sends it; empty if none was in that time. Null:
  /// nobody sits there.
  std::function<std::string(Millis)> key{};
  std::size_t height = 0;  // lines of the terminal; 0: not a terminal
  std::string version{};   // of this program
  std::vector<std::pair<std::string, std::string>> environment{};
};

/// Says what went wrong and what to do next; answers exit_error.
int fail(Context& context, const Error& error);
/// The same, and the exit says which kind: usage for what was said wrongly, nothing_matched for
/// what is not there, error for all else.
int refuse(Context& context, const Error& error);

/// Opens the office in `context.data` for reading, beside a running server if there is one.
[[nodiscard]] Result<std::unique_ptr<Office>> open_for_reading(const Context& context);

/// "3m ago", "2d 4h ago", "in 5m".
[[nodiscard]] std::string relative(TimePoint when, TimePoint now);

}  // namespace dlo::cli
