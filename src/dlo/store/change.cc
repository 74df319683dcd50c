#include "dlo/store/change.h"

#include <array>

namespace dlo {
namespace {

constexpr std::array all_group_statuses = {GroupStatus::open,     GroupStatus::acknowledged,
                                           GroupStatus::fixing,   GroupStatus::snoozed,
                                           GroupStatus::resolved, GroupStatus::ignored};

}  // namespace

std::string_view name_of(GroupStatus status) noexcept {
  switch (status) {
    case GroupStatus::open:
      return "open";
    case GroupStatus::acknowledged:
      return "acknowledged";
    case GroupStatus::fixing:
      return "fixing";
    case GroupStatus::snoozed:
      return "snoozed";
    case GroupStatus::resolved:
      return "resolved";
    case GroupStatus::ignored:
      return "ignored";
  }
  return "unknown";
}

std::optional<GroupStatus> parse_group_status(std::string_view text) noexcept {
  for (const GroupStatus status : all_group_statuses) {
    if (name_of(status) == text) return status;
  }
  return std::nullopt;
}

std::string job_item_kind(std::string_view job) {
  return "job_item:" + std::string(job);
}

}  // namespace dlo
