#pragma once

#include <string>

namespace dlo::peers {

/// How a program of this folder ends; bench/peers/README.md has the whole protocol.
enum class Exit : int { fine = 0, failed = 1, wrong_use = 2, not_offered = 3 };

/// Says why and ends the program, from any thread: a measurement that went wrong has no result.
[[noreturn]] void fail(const std::string& why, Exit code = Exit::failed);

}  // namespace dlo::peers
