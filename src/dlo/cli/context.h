#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {
class Office;
}

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
  std::string data = "dlo-data";
  Format format = Format::table;
};

/// Says what went wrong and what to do next; answers exit_error.
int fail(Context& context, const Error& error);

/// Opens the office in `context.data` for reading, beside a running server if there is one.
[[nodiscard]] Result<std::unique_ptr<Office>> open_for_reading(const Context& context);

/// "3m ago", "2d 4h ago", "in 5m".
[[nodiscard]] std::string relative(TimePoint when, TimePoint now);

}  // namespace dlo::cli
