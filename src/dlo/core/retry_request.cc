#include "dlo/core/retry_request.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::uint32_t most_retries = 1'000'000;

std::optional<std::uint32_t> read_count(const std::string& text) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value > most_retries) return std::nullopt;
  return value;
}

void set_policy(Profile& profile, const RetryPolicy& policy) {
  profile.retry = policy;
  profile.unregistered.reset();  // who asks for a policy means every failure
  for (auto& [name, category] : profile.categories) {
    category.policy.reset();
    if (category.action == Action::never) category.action = Action::retry;
  }
}

bool knows(const Profile& profile, const std::string& category) {
  if (profile.categories.contains(category) || category == crash_category) return true;
  if (category == profile.default_category || category == profile.invalid_category) return true;
  return std::any_of(profile.rules.begin(), profile.rules.end(),
                     [&](const Rule& rule) { return rule.category == category; });
}

}  // namespace

void put_request(Headers& headers, const RetryRequest& request) {
  if (request.policy) {
    headers.push_back(
        {std::string(retry_policy_header),
         request.plain ? std::string(name_of(request.policy->kind)) : print(*request.policy)});
  }
  if (request.max_retries) {
    headers.push_back({std::string(max_retries_header), std::to_string(*request.max_retries)});
  }
}

RetryRequest request_of(const Headers& headers) {
  RetryRequest request;
  if (const Header* policy = find_header(headers, retry_policy_header)) {
    if (auto read = parse_workflow_policy(policy->value)) request.policy = std::move(*read);
    request.plain = request.policy && is_workflow_policy(policy->value);
  }
  if (const Header* count = find_header(headers, max_retries_header)) {
    request.max_retries = read_count(count->value);
  }
  return request;
}

Profile with_request(Profile profile, const RetryRequest& request) {
  if (request.policy) {
    RetryPolicy policy = *request.policy;
    const bool waits = policy.kind != PolicyKind::never && policy.kind != PolicyKind::immediate;
    if (request.plain && waits) policy.jitter = profile.retry.jitter;
    set_policy(profile, policy);
  }
  if (request.max_retries) {
    for (auto& [name, category] : profile.categories) category.limit.reset();
    const std::string reason = profile.post_check ? profile.post_check->reason : "exhausted";
    profile.limit = *request.max_retries;
    profile.pre_check.reset();
    profile.post_check = {CounterName::retry, Comparison::at_least, *request.max_retries, reason,
                          "Retry {count} of {limit} failed. Last error: {error}"};
  }
  return profile;
}

Profile with_category(Profile profile, const std::string& category) {
  if (!knows(profile, category)) {
    const auto unknown = profile.categories.find(profile.default_category);
    if (unknown != profile.categories.end()) profile.categories[category] = unknown->second;
  }
  profile.rules.clear();
  std::erase_if(profile.categories, [&](const auto& each) {
    return each.first != category && each.first != profile.invalid_category &&
           each.first != crash_category;
  });
  profile.default_category = profile.empty_error_category = category;
  return profile;
}

bool is_workflow_policy(std::string_view text) noexcept {
  return text == "never" || text == "linear" || text == "exponential" || text == "immediate";
}

Result<RetryPolicy> parse_workflow_policy(std::string_view text, const NamedPolicies& named) {
  if (const auto found = named.find(text); found != named.end()) return found->second;
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  std::vector<std::string_view> valid;
  for (const PolicyKind kind : every_policy_kind) valid.push_back(name_of(kind));
  const bool known = std::find(valid.begin(), valid.end(), word) != valid.end();
  if (known || word.empty() || named.empty()) return parse_policy(text);
  for (const auto& [name, ignored] : named) valid.push_back(name);
  return Error{Code::invalid_argument, "core.policy", unknown_name("retry policy", word, valid)};
}

bool office_retries(const Profile& profile) noexcept {
  return profile.placement == Placement::in_office;
}

}  // namespace dlo
