#pragma once

#include <gtest/gtest.h>
#include <stdexcept>
#include <utility>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo::testing {

/// Unwraps a result, or ends the test with its error.
template <typename T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error("unexpected error at " + result.error().where + ": " +
                             result.error().detail);
  }
  return std::move(*result);
}
inline void must(const Result<void>& result) {
  if (!result) {
    throw std::runtime_error("unexpected error at " + result.error().where + ": " +
                             result.error().detail);
  }
}

/// The moment most tests begin: 2026-03-01 12:00:00 UTC.
inline constexpr TimePoint noon{Millis{1'772'366'400'000}};

}  // namespace dlo::testing
