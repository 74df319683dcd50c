#include "dlo/core/profile.h"

#include "dlo/core/enum_names.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::string_view safe_suffix = "+safe";

const Profile* look_up(std::string_view name) {
  for (const Profile& profile : builtin_profiles()) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

}  // namespace

Result<Profile> find_profile(std::string_view name) {
  if (const Profile* found = look_up(name)) return *found;
  if (name == std::string(default_profile_name) + std::string(safe_suffix)) {
    return find_profile(default_profile_name);
  }
  std::vector<std::string_view> names;
  for (const Profile& profile : builtin_profiles()) names.push_back(profile.name);
  return Error{Code::not_found, "core.profile", unknown_name("profile", name, names)};
}

std::string recommended_name(std::string_view name) {
  const std::string safe = std::string(name) + std::string(safe_suffix);
  return look_up(safe) != nullptr ? safe : std::string(name);
}

Profile with_limit(Profile profile, std::uint32_t limit) {
  profile.limit = limit;
  if (profile.pre_check) profile.pre_check->limit = limit;
  if (profile.post_check) profile.post_check->limit = limit;
  return profile;
}

std::string_view name_of(Comparison value) noexcept {
  return enum_name(value);
}
std::string_view name_of(Action value) noexcept {
  return enum_name(value);
}
std::string_view name_of(Stage value) noexcept {
  return enum_name(value);
}
std::string_view name_of(InvalidAction value) noexcept {
  return enum_name(value);
}
std::string_view name_of(Placement value) noexcept {
  return enum_name(value);
}
std::string_view name_of(StoreFailure value) noexcept {
  return enum_name(value);
}
std::string_view name_of(OwnerEffect value) noexcept {
  return enum_name(value);
}
std::string_view name_of(ReplayCount value) noexcept {
  return enum_name(value);
}
std::string_view name_of(FirstAttempt value) noexcept {
  return enum_name(value);
}
std::string_view name_of(Strategy value) noexcept {
  return enum_name(value);
}
std::string_view name_of(Skips value) noexcept {
  return enum_name(value);
}
std::string_view name_of(RetentionAct value) noexcept {
  return enum_name(value);
}
std::string_view name_of(RetentionFrom value) noexcept {
  return enum_name(value);
}

}  // namespace dlo
