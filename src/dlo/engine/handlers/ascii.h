#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace dlo {

/// Lower case as protocols mean it: A to Z only, whatever the locale.
[[nodiscard]] inline std::string lower_ascii(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

}  // namespace dlo
