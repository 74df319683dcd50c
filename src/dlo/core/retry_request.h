#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/backoff.h"
#include "dlo/core/message.h"
#include "dlo/core/profile.h"
#include "dlo/core/result.h"

namespace dlo {

/// How whoever hands a failed task over wants it to be retried (S2-18). Empty: as its profile says.
struct RetryRequest {
  std::optional<RetryPolicy> policy;
  std::optional<std::uint32_t> max_retries;  // 0: kept, and exhausted at once
  bool plain = false;  // one of the four of document 002 by its name: jitter as its profile has it
  bool operator==(const RetryRequest&) const = default;
};

/// A task carries its request in headers, so that every later failure is decided by it too.
inline constexpr std::string_view retry_policy_header = "dlo-retry-policy";
inline constexpr std::string_view max_retries_header = "dlo-max-retries";
void put_request(Headers& headers, const RetryRequest& request);
/// What cannot be read is no request.
[[nodiscard]] RetryRequest request_of(const Headers& headers);

/// Where a task was to act (S2-17): a JSON list. Executors are told of it beside the task.
inline constexpr std::string_view targets_header = "dlo-targets";

/// The profile with the request worked in. A policy holds for every category, also for those that
/// the profile never retries: who names one means it. A number of retries is one whatever counter
/// the profile's own limit looks at.
[[nodiscard]] Profile with_request(Profile profile, const RetryRequest& request);

/// The profile for a failure of which somebody says what it is: no rule is asked. A category that
/// the profile does not know is treated as its default one (S2-8: unknown is never retried).
[[nodiscard]] Profile with_category(Profile profile, const std::string& category);

/// What a configuration calls its own schedules.
using NamedPolicies = std::map<std::string, RetryPolicy, std::less<>>;

/// One of `named`, else as `parse_policy` reads it, which includes the four of document 002 by
/// their names (S2-4..7): `linear` is 5 min more each time, `exponential` 1 to 60 min, `immediate`,
/// `never`. A name that nobody knows is refused with all of them.
[[nodiscard]] Result<RetryPolicy> parse_workflow_policy(std::string_view text,
                                                        const NamedPolicies& named = {});
/// Whether it is one of those four.
[[nodiscard]] bool is_workflow_policy(std::string_view text) noexcept;

/// Whether the office itself retries what is reported under this profile, instead of keeping it as
/// the end of somebody else's attempts.
[[nodiscard]] bool office_retries(const Profile& profile) noexcept;

}  // namespace dlo
