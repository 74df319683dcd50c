#include "dlo/core/error.h"

namespace dlo {

std::string_view name_of(Code code) noexcept {
  switch (code) {
    case Code::not_found:
      return "not_found";
    case Code::lease_lost:
      return "lease_lost";
    case Code::conflict:
      return "conflict";
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::full:
      return "full";
    case Code::disk_full:
      return "disk_full";
    case Code::refused:
      return "refused";
    case Code::corrupt:
      return "corrupt";
    case Code::unavailable:
      return "unavailable";
    case Code::timed_out:
      return "timed_out";
  }
  return "unknown";
}

}  // namespace dlo
