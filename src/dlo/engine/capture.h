#pragma once

#include <exception>
#include <functional>
#include <string>
#include <typeinfo>

#include "dlo/core/failure.h"
#include "dlo/engine/handler.h"

namespace dlo {

/// The name of a C++ type as people write it.
[[nodiscard]] std::string type_name(const std::type_info& type);

/// Any exception as a failure: its type, its text, and the chain of nested exceptions as causes.
/// Something that is not a std::exception is named by its type.
[[nodiscard]] Failure failure_of(const std::exception_ptr& thrown);

/// Runs a handler. Whatever it throws is a failure like one it returned (I5).
[[nodiscard]] Outcome run_captured(Handler& handler, const Message& message,
                                   const RunContext& context);

}  // namespace dlo
