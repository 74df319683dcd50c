#pragma once

#include <cstdint>

#include "dlo/core/error.h"

namespace dlo::sql {

/// What a failed transaction means for those who were in it.
enum class Loss : std::uint8_t {
  rolled_back,   // nothing was written; perhaps one of them is to blame, so each may try alone
  again,         // nothing was written, through nobody's fault: the same may work at once
  final_answer,  // it may have been written, or waiting once more is of no use: the callers decide
};

/// An error on its way to the seam. Thrown and caught inside an office on SQL only: a statement
/// that fails ends the whole transaction, and no caller in between could do anything about it.
struct Failed {
  Error error;
  Loss loss = Loss::rolled_back;
};

}  // namespace dlo::sql
