#include "dlo/store/change.h"

namespace dlo {

std::string job_item_kind(std::string_view job) {
  return "job_item:" + std::string(job);
}

}  // namespace dlo
