#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dlo/core/error.h"

namespace dlo::postgres {

/// What a statement that failed means, read from its SQLSTATE.
enum class Trouble : std::uint8_t {
  statement,  // it alone is to blame
  collision,  // deadlock or serialization: the same transaction may work at once
  cancelled,  // statement_timeout, or somebody cancelled it
  lost,       // the connection is gone, or leads to a server that takes no writes
};
/// A standby, or a server that was set so: another connection may lead to one that writes.
inline constexpr std::string_view read_only = "25006";

/// An error on its way to the seam. Thrown by this folder; whoever uses it catches it before its
/// own seam.
struct Failed {
  Error error;
  Trouble trouble = Trouble::statement;
  std::string state;  // SQLSTATE, five characters; empty if the server said nothing
};

[[nodiscard]] Trouble trouble_of(std::string_view state) noexcept;
/// What a caller can do about it.
[[nodiscard]] Code code_of(std::string_view state) noexcept;

}  // namespace dlo::postgres
