// What makes a profile valid. Every refusal names the setting and says what would be right.
#include <algorithm>
#include <set>

#include "dlo/core/duration.h"
#include "dlo/core/encoding.h"
#include "dlo/core/profile.h"
#include "dlo/core/reachable.h"
#include "dlo/core/spelling.h"
#include "dlo/core/states.h"

namespace dlo {
namespace {

constexpr std::uint32_t most_inner_retries = 100;
constexpr std::size_t longest_name = 64;

Error refuse(const Profile& profile, const std::string& why) {
  return {Code::invalid_argument, "core.profile",
          "profile " + in_quotes(profile.name) + ": " + why};
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > longest_name) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '+' ||
           c == '.';
  });
}

bool trips_at_first_claim(const Check& check) {
  Counters first;
  first.fetch = 1;
  const std::uint64_t count = value_of(first, check.counter);
  return check.comparison == Comparison::greater ? count > check.limit : count >= check.limit;
}

/// Whether each execution moves the counter, so that its limit is reached some time.
bool is_sure_to_rise(const Profile& profile, CounterName counter) {
  return counter != CounterName::abandon || profile.failure_abandons;
}

Result<void> check_limits(const Profile& profile) {
  if (!profile.pre_check && !profile.post_check) {
    return refuse(profile, "nothing limits its retries; give it a pre_check or a post_check.");
  }
  bool bounded = false;
  for (const auto* check : {&profile.pre_check, &profile.post_check}) {
    if (!*check) continue;
    const std::string place = check == &profile.pre_check ? "pre_check" : "post_check";
    if ((*check)->limit != profile.limit) {
      return refuse(profile, place + " has limit " + std::to_string((*check)->limit) +
                                 " but the profile says " + std::to_string(profile.limit) +
                                 "; records state one limit, so write the same in both.");
    }
    if ((*check)->reason.empty()) return refuse(profile, place + " needs a reason to die of.");
    bounded = bounded || is_sure_to_rise(profile, (*check)->counter);
  }
  if (!bounded) {
    return refuse(profile,
                  "it could retry for ever: only abandons are limited and failures do not count as "
                  "abandons; set failure_abandons: true or check another counter.");
  }
  if (profile.pre_check && trips_at_first_claim(*profile.pre_check)) {
    return refuse(profile,
                  "its pre_check would dead-letter every message without running it; "
                  "raise the limit.");
  }
  return {};
}

Result<void> check_policy(const Profile& profile, const std::string& place,
                          const RetryPolicy& policy) {
  if (auto checked = check(policy); !checked) {
    return refuse(profile, place + ": " + checked.error().detail);
  }
  return {};
}

Result<void> check_policies(const Profile& profile) {
  if (auto checked = check_policy(profile, "retry", profile.retry); !checked) return checked;
  if (profile.unregistered) {
    if (auto checked = check_policy(profile, "unregistered", *profile.unregistered); !checked) {
      return checked;
    }
  }
  for (const auto& [name, category] : profile.categories) {
    if (!category.policy) continue;
    auto checked = check_policy(profile, "categories." + name + ".policy", *category.policy);
    if (!checked) return checked;
  }
  if (auto checked = check_policy(profile, "inner.policy", profile.inner.policy); !checked) {
    return checked;
  }
  if (profile.inner.retries > most_inner_retries) {
    return refuse(profile, "inner.retries may be at most 100: a lease is held all the while.");
  }
  return {};
}

Result<void> check_categories(const Profile& profile) {
  if (profile.default_category.empty() || profile.empty_error_category.empty() ||
      profile.invalid_category.empty()) {
    return refuse(profile,
                  "default_category, empty_error_category and invalid_category must be "
                  "named.");
  }
  const auto known = reachable_categories(profile);
  const std::vector<std::string_view> valid(known.begin(), known.end());
  for (const auto& [name, category] : profile.categories) {
    if (!known.contains(name)) {
      return refuse(profile, "no rule leads to it: " + unknown_name("category", name, valid));
    }
    if (category.limit && !profile.post_check) {
      return refuse(profile,
                    "categories." + name + ".limit needs a post_check, whose limit it replaces.");
    }
  }
  for (const std::string& name : profile.inner.retry_on) {
    if (!known.contains(name)) {
      return refuse(profile, "inner.retry_on: " + unknown_name("category", name, valid));
    }
  }
  return {};
}

Result<void> check_retention(const Profile& profile) {
  std::vector<std::string_view> valid = {"open", "closed"};
  for (const Status status : all_statuses()) {
    if (!is_live(status)) valid.push_back(name_of(status));
  }
  for (const RetentionRule& rule : profile.retention) {
    if (std::find(valid.begin(), valid.end(), rule.status) == valid.end()) {
      return refuse(profile, "retention: " + unknown_name("status", rule.status, valid));
    }
    if (rule.age <= Millis{0} || rule.age > longest_duration) {
      return refuse(profile, "retention: age must be above 0s and at most 3650d.");
    }
    if (rule.act != RetentionAct::archive && rule.from != RetentionFrom::end) {
      return refuse(profile, "retention: " + std::string(name_of(rule.act)) +
                                 " loses something, so it counts from the end, not from " +
                                 in_quotes(name_of(rule.from)) + ".");
    }
  }
  if (profile.exhausted_status != "pending" && profile.exhausted_status != "exhausted") {
    constexpr std::array<std::string_view, 2> states = {"pending", "exhausted"};
    return refuse(profile,
                  "exhausted_status: " + unknown_name("status", profile.exhausted_status, states));
  }
  return {};
}

Result<void> check_validation(const Profile& profile) {
  std::set<Stage> seen;
  for (const Stage stage : profile.validation) {
    if (!seen.insert(stage).second) {
      return refuse(profile, "validation lists " + in_quotes(name_of(stage)) + " twice.");
    }
  }
  return {};
}

/// All words for people, so that every surface can show and store them.
Result<void> check_text(const Profile& profile) {
  std::vector<const std::string*> texts = {&profile.summary,
                                           &profile.default_category,
                                           &profile.empty_error_category,
                                           &profile.invalid_category,
                                           &profile.reasons.non_retryable,
                                           &profile.reasons.non_retryable_description,
                                           &profile.reasons.invalid_header,
                                           &profile.reasons.invalid_decode,
                                           &profile.reasons.invalid_schema,
                                           &profile.reasons.expired,
                                           &profile.reasons.crash,
                                           &profile.reasons.never,
                                           &profile.form};
  for (const auto* check : {&profile.pre_check, &profile.post_check}) {
    if (!*check) continue;
    texts.push_back(&(*check)->reason);
    texts.push_back(&(*check)->description);
  }
  for (const Rule& rule : profile.rules) {
    texts.push_back(&rule.name);
    texts.push_back(&rule.category);
    for (const std::string& value : rule.values) texts.push_back(&value);
    for (const std::string& value : rule.except) texts.push_back(&value);
  }
  for (const auto& [name, category] : profile.categories) {
    texts.push_back(&name);
    texts.push_back(&category.reason);
  }
  for (const std::string* text : texts) {
    if (!is_utf8(*text)) return refuse(profile, in_quotes(*text) + " is not UTF-8 text.");
  }
  return {};
}

}  // namespace

std::set<std::string_view> reachable_categories(const Profile& profile) {
  std::set<std::string_view> names = {profile.default_category, profile.empty_error_category,
                                      profile.invalid_category, crash_category, "unregistered"};
  for (const Rule& rule : profile.rules) names.insert(rule.category);
  return names;
}

Result<void> check(const Profile& profile) {
  if (!is_name(profile.name)) {
    return refuse(profile, "its name must be 1 to 64 of a-z, 0-9, '-', '_', '+', '.'.");
  }
  if (auto checked = check_text(profile); !checked) return checked;
  if (auto checked = check_limits(profile); !checked) return checked;
  if (auto checked = check_policies(profile); !checked) return checked;
  if (auto checked = check(profile.rules); !checked) {
    return refuse(profile, checked.error().detail);
  }
  if (auto checked = check_categories(profile); !checked) return checked;
  if (auto checked = check_validation(profile); !checked) return checked;
  return check_retention(profile);
}

}  // namespace dlo
