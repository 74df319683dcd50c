#include "dlo/core/message.h"

#include <algorithm>

#include "dlo/core/spelling.h"

namespace dlo {

const Header* find_header(const Headers& headers, std::string_view name) noexcept {
  const auto lower = [](char c) { return ascii_lower(c); };
  for (auto it = headers.rbegin(); it != headers.rend(); ++it) {
    if (std::ranges::equal(it->name, name, {}, lower, lower)) return &*it;
  }
  return nullptr;
}

}  // namespace dlo
