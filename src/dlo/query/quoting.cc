#include "dlo/query/quoting.h"

#include <algorithm>

#include "dlo/query/terms.h"

namespace dlo::query {

std::string quoted_if_needed(std::string_view value) {
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return is_name_char(c) || c == '-' || c == '.' || c == '/' ||
           static_cast<unsigned char>(c) >= 0x80;
  });
  if (plain) return std::string(value);
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace dlo::query
