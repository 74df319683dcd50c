#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/json/text/value.h"

namespace dlo::cli {

// What a dead letter says, as a text that people edit: lines of headers, an empty line, the
// payload. Bytes that are no text are not shown and stay as they are.

struct DraftText {
  std::vector<std::pair<std::string, std::string>> headers;
  std::string payload;
};

/// `content` has the members `headers` and `payload`; `remarks` come first, as comments.
[[nodiscard]] std::string write_draft(const JsonValue& content, const std::string& remarks);
/// invalid_argument names the line that is no header.
[[nodiscard]] Result<DraftText> read_draft(const std::string& text);

/// The body of an edit that makes `content` say `wanted`; nothing if it says so already.
[[nodiscard]] std::optional<std::string> edit_members(const JsonValue& content,
                                                      const DraftText& wanted);

}  // namespace dlo::cli
