#pragma once

#include <string_view>

#include "dlo/core/error.h"

namespace dlo {

/// `where` of an error that a source answers because the office failed in which it keeps what it
/// cannot keep itself: the office is down then, and the source is not (R20).
inline constexpr std::string_view office_behind_source = "office.counts";
[[nodiscard]] inline bool is_office_behind_source(const Error& error) noexcept {
  return error.where == office_behind_source;
}

}  // namespace dlo
