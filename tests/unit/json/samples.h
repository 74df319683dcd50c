#pragma once

#include <rapidcheck.h>
#include <string>

#include "dlo/store/query.h"

namespace dlo::testing {

/// A record with something in every field.
[[nodiscard]] RecordDetail sample_detail();

/// Records of every shape: any bytes in any text, absent and present parts, ends of number ranges.
[[nodiscard]] rc::Gen<RecordDetail> random_detail();

/// The first field in which two records differ; empty if none does.
[[nodiscard]] std::string same(const RecordDetail& a, const RecordDetail& b);

}  // namespace dlo::testing
