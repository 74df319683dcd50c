#include "dlo/core/overrides.h"

#include <array>
#include <charconv>
#include <utility>

#include "dlo/core/spelling.h"

namespace dlo {
namespace {

struct Scoped {
  const Override* settings;
  OverrideOrigin origin;
};

const Override* find(const OverrideTable& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

/// Every scope that says something about this message, narrowest first.
std::vector<Scoped> scopes_of(const Overrides& overrides, const Message& message,
                              const Override& of_message) {
  std::vector<Scoped> scopes = {{&of_message, {OverrideScope::message, message.id}}};
  const auto add = [&](const Override* found, OverrideScope scope, const std::string& name) {
    if (found != nullptr) scopes.push_back({found, {scope, name}});
  };
  if (message.owner && message.owner->activity) {
    const std::string& activity = message.owner->activity->name;
    add(find(overrides.by_activity, activity), OverrideScope::activity, activity);
  }
  add(find(overrides.by_event_type, message.event_type), OverrideScope::event_type,
      message.event_type);
  add(find(overrides.by_source, message.source), OverrideScope::source, message.source);
  return scopes;
}

void set_limit(Profile& profile, std::uint32_t limit) {
  profile.limit = limit;
  if (profile.pre_check) profile.pre_check->limit = limit;
  if (profile.post_check) profile.post_check->limit = limit;
  for (auto& [name, category] : profile.categories) category.limit.reset();
}

void set_policy(Profile& profile, const RetryPolicy& policy) {
  profile.retry = policy;
  for (auto& [name, category] : profile.categories) category.policy.reset();
}

void set_classifier(Profile& profile, const ClassifierOverride& classifier) {
  profile.rules = classifier.rules;
  profile.default_category = classifier.default_category;
  profile.empty_error_category = classifier.empty_error_category;
}

}  // namespace

std::string describe(const OverrideOrigin& origin) {
  std::string text(name_of(origin.scope));
  if (!origin.name.empty()) text.append(" ").append(origin.name);
  return text;
}

std::string_view name_of(OverrideScope scope) noexcept {
  switch (scope) {
    case OverrideScope::message:
      return "message";
    case OverrideScope::activity:
      return "activity";
    case OverrideScope::event_type:
      return "event type";
    case OverrideScope::source:
      return "source";
    case OverrideScope::profile:
      return "profile";
  }
  return "unknown";
}

EffectiveProfile apply_overrides(const Profile& profile, const Overrides& overrides,
                                 const Message& message, const Override& of_message) {
  const OverrideOrigin plain{OverrideScope::profile, profile.name};
  EffectiveProfile effective{profile, plain, plain, plain};
  bool has_limit = false;
  bool has_policy = false;
  bool has_classifier = false;
  for (const auto& [settings, origin] : scopes_of(overrides, message, of_message)) {
    if (settings->limit && !std::exchange(has_limit, true)) {
      set_limit(effective.profile, *settings->limit);
      effective.limit = origin;
    }
    if (settings->policy && !std::exchange(has_policy, true)) {
      set_policy(effective.profile, *settings->policy);
      effective.policy = origin;
    }
    if (settings->classifier && !std::exchange(has_classifier, true)) {
      set_classifier(effective.profile, *settings->classifier);
      effective.classifier = origin;
    }
  }
  return effective;
}

std::string describe(const EffectiveProfile& effective) {
  return "limit " + std::to_string(effective.profile.limit) + " (" + describe(effective.limit) +
         "), policy " + print(effective.profile.retry) + " (" + describe(effective.policy) +
         "), classifier of " + describe(effective.classifier);
}

Result<Override> override_of(const Headers& headers) {
  Override settings;
  if (const Header* limit = find_header(headers, limit_header)) {
    std::uint32_t value = 0;
    const char* end = limit->value.data() + limit->value.size();
    const auto [stop, error] = std::from_chars(limit->value.data(), end, value);
    if (error != std::errc{} || stop != end || value == 0) {
      return Error{Code::invalid_argument, "core.override_of",
                   "header dlo-limit is " + in_quotes(limit->value) +
                       ": it must be a whole number from 1 to 4294967295. The message follows the "
                       "limit of its source until its producer is corrected."};
    }
    settings.limit = value;
  }
  if (const Header* policy = find_header(headers, policy_header)) {
    auto parsed = parse_policy(policy->value);
    if (!parsed) {
      return Error{
          Code::invalid_argument, "core.override_of",
          "header dlo-policy is " + in_quotes(policy->value) + ": " + parsed.error().detail};
    }
    settings.policy = std::move(*parsed);
  }
  return settings;
}

}  // namespace dlo
