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

void ProfileBook::set_event_type(const std::string& event_type, Override wanted) {
  overrides_.by_event_type.insert_or_assign(event_type, std::move(wanted));
}

void ProfileBook::set_names(RetryNames names) {
  names_ = std::make_shared<const RetryNames>(std::move(names));
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

Result<Profile> ProfileBook::find(std::string_view name, const Message& message) const {
  if (override_key(message).empty()) return find(name);
  auto found = effective(name, message);
  if (!found) return found.error();
  return std::move(found->profile);
}

Result<EffectiveProfile> ProfileBook::effective(std::string_view name,
                                                const Message& message) const {
  const auto profile = find(name);
  if (!profile) return profile.error();
  const auto own = override_of(message.headers);
  return apply_overrides(*profile, overrides_, message, own ? *own : Override{});
}

std::string ProfileBook::override_key(const Message& message) const {
  std::string key;
  const auto add = [&key](char what, std::string_view value) {
    key.append(1, what).append(std::to_string(value.size())).append(1, ':').append(value);
  };
  if (overrides_.by_source.contains(message.source)) add('s', message.source);
  if (overrides_.by_event_type.contains(message.event_type)) add('e', message.event_type);
  if (const Header* limit = find_header(message.headers, limit_header)) add('l', limit->value);
  if (const Header* policy = find_header(message.headers, policy_header)) add('p', policy->value);
  return key;
}

}  // namespace dlo
