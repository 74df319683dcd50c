#include "dlo/core/profile_book.h"

#include <utility>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/core/spelling.h"

namespace dlo {

void ProfileBook::set(Profile profile) {
  std::string name = profile.name;
  own_.insert_or_assign(std::move(name), std::move(profile));
}

void ProfileBook::set_source(const std::string& source, Override wanted) {
  overrides_.by_source.insert_or_assign(source, std::move(wanted));
}

Result<Profile> ProfileBook::find(std::string_view name) const {
  if (const auto found = own_.find(name); found != own_.end()) return found->second;
  auto known = find_profile(name);
  if (known || own_.empty()) return known;
  std::vector<std::string_view> valid;
  for (const auto& [own, ignored] : own_) valid.push_back(own);
  for (const Profile& each : builtin_profiles()) {
    if (!own_.contains(each.name)) valid.push_back(each.name);
  }
  return Error{known.error().code, known.error().where, unknown_name("profile", name, valid)};
}

Result<Profile> ProfileBook::find(std::string_view name, const std::string& source) const {
  auto profile = find(name);
  if (!profile || !overrides_.by_source.contains(source)) return profile;
  Message message;
  message.source = source;
  return apply_overrides(*profile, overrides_, message).profile;
}

}  // namespace dlo
