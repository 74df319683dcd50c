#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dlo::postgres {

/// The words of a text (store/rules.h) as the index keeps them: hashes, ascending, each once. A row
/// that has them all may have the words; whoever finds it looks at the text.
[[nodiscard]] std::vector<std::int32_t> word_hashes(std::string_view text);

}  // namespace dlo::postgres
