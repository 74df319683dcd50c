#pragma once

#include <string>

#include "dlo/core/dead_letter.h"
#include "dlo/core/explain.h"
#include "dlo/core/result.h"
#include "dlo/store/query.h"

namespace dlo {

// Values as JSON text on one line, for the CLI, the API and exports. Field names are stable,
// snake_case and DESIGN's words; times are ISO-8601 UTC with milliseconds; payload bytes that are
// not UTF-8 are base64 with "payload_encoding": "base64"; null and empty differ.

[[nodiscard]] std::string to_json(const RecordHead& head);
[[nodiscard]] std::string to_json(const Page& page);
[[nodiscard]] std::string to_json(const RecordDetail& detail);
[[nodiscard]] std::string to_json(const Attempt& attempt);
[[nodiscard]] std::string to_json(const Aggregate& aggregate);
[[nodiscard]] std::string to_json(const Explanation& explanation);

/// An exported record read back: parse(to_json(d)) has the same record, bytes and all.
[[nodiscard]] Result<RecordDetail> parse_record_detail(const std::string& text);

}  // namespace dlo
