#include "dlo/postgres/failed.h"

#include <algorithm>
#include <array>

namespace dlo::postgres {
namespace {

struct Row {
  std::string_view state;  // a class of two characters, or all five
  Code code;
};

// Appendix A of the manual. The first row that is a prefix of the state decides.
constexpr std::array rows{
    Row{"53100", Code::disk_full},     Row{"53200", Code::full},  // out_of_memory
    Row{"54", Code::invalid_argument},  // a program limit: a value too long for an index
    Row{"22", Code::invalid_argument},  // a value the server cannot hold
    Row{"28", Code::refused},           // wrong user or password
    Row{"3D", Code::refused},           // no such database
    Row{"42501", Code::refused},        // insufficient_privilege
    Row{"XX", Code::corrupt},           // damaged data or index
    Row{"55P03", Code::unavailable},    // lock_not_available: somebody holds it too long
    Row{"57014", Code::unavailable},    // query_canceled
};

}  // namespace

Trouble trouble_of(std::string_view state) noexcept {
  if (state == "40001" || state == "40P01") return Trouble::collision;
  if (state == "57014") return Trouble::cancelled;
  // 57P01..03: the server goes down or is not up yet; 25P03: idle in a transaction for too long.
  if (state.empty() || state == read_only || state.starts_with("08") || state.starts_with("57P") ||
      state == "25P03") {
    return Trouble::lost;
  }
  return Trouble::statement;
}

Code code_of(std::string_view state) noexcept {
  const auto* found =
      std::ranges::find_if(rows, [state](const Row& row) { return state.starts_with(row.state); });
  return found == rows.end() ? Code::unavailable : found->code;
}

}  // namespace dlo::postgres
