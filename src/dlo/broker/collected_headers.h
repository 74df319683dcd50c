#pragma once

#include <string_view>

/// What is added to the headers of a message that was found in a dead-letter queue, for whoever
/// sends it back. They never go along.
namespace dlo {

/// The queue in which it failed.
inline constexpr std::string_view origin_header = "dlo-origin";
/// Its event type was read from its headers, or is that of its source: on the wire it has none.
inline constexpr std::string_view untyped_header = "dlo-untyped";

}  // namespace dlo
