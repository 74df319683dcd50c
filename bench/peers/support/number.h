#pragma once

#include <charconv>
#include <string_view>

namespace dlo::peers {

/// The decimal number at the front of `text`; `otherwise` if there is none.
template <typename Number = long>
[[nodiscard]] Number number_in(std::string_view text, Number otherwise = 0) {
  Number value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace dlo::peers
