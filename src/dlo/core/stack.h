#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlo {

/// One frame of a stack trace, without what varies between builds and runs: line numbers,
/// arguments, addresses, numbers of lambdas and closures.
struct StackFrame {
  std::string function;  // qualified; `file:function` where the language names no package
  bool library = false;  // somebody else's code, by core/stack_tables.h
  bool operator==(const StackFrame&) const = default;
};

/// What a stack trace says about where an error came from.
struct StackReading {
  std::vector<StackFrame> frames;  // of the root cause, innermost first; at most 64
  std::string root_type;           // of the root cause, if the trace names one
  std::string root_text;
};

/// Reads traces of Java, .NET, Python, JavaScript, Go, Rust, C++, Ruby and PHP, by the shape of
/// their lines: no language is declared, and odd lines are skipped. Text beyond 64 KB is ignored.
/// Total: any bytes give a reading, at worst an empty one.
[[nodiscard]] StackReading read_stack(std::string_view stack);

}  // namespace dlo
