#pragma once

#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/retry_names.h"
#include "dlo/core/text_tree.h"

namespace dlo {

struct ConfigReading;

/// `policies.NAME`: a schedule, as a list of waits, as `{expression: …, cap: …, jitter: …}`, or in
/// full (`linear base=10m`). Profiles, sources, event types, templates and reports may name it.
void read_policies(const TextNode& section, ConfigReading& reading);

/// `templates.NAME`: what a report may say in one word. Read after the policies.
void read_templates(const TextNode& section, ConfigReading& reading);

/// A policy in full, or one of `named`; refused with the valid names.
[[nodiscard]] Result<RetryPolicy> read_policy(std::string_view text, const NamedPolicies& named);

/// Puts the policies in full where the settings of a profile name them.
void spell_out_policies(TextNode& settings, const NamedPolicies& named);

/// One line about `policies.NAME` or `templates.NAME`.
[[nodiscard]] std::string describe_name(const RetryNames& names, const std::string& path);

}  // namespace dlo
