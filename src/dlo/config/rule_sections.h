#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/classify.h"
#include "dlo/core/profile_book.h"
#include "dlo/core/text_tree.h"

namespace dlo {

struct ConfigReading;

/// Sections whose entries have names that users choose, or are lists.
inline constexpr std::array<std::string_view, 10> rule_sections = {
    "profiles",  "sources", "event_types", "policies", "templates",
    "executors", "replay",  "collectors",  "entities", "outboxes"};
[[nodiscard]] bool is_rule_section(std::string_view name);

/// `profiles.NAME`: a rule set of one's own on top of another; `sources.NAME`, `event_types.NAME`:
/// what differs for one source or event type, and for a source which queue it is and who handles
/// it; `policies.NAME`: a schedule by a name of one's own;
/// `templates.NAME`: what reports may say in one word; `executors.NAME`: who runs retries;
/// `replay.redirects`: where what is sent back goes instead; `collectors.NAME`: dead-letter queues
/// of others that are drained; `entities.NAME`: what is retried when somebody asks for it;
/// `outboxes.NAME`: tables whose rows are sent. Fills
/// `reading.config.rules`, works in the settings of `service_bus` and `workflow`, and adds whatever
/// is wrong to the problems.
void read_rule_sections(const std::vector<TextEntry>& sections, const RegexCompiler& regex,
                        ConfigReading& reading);

/// One line about an entry of these sections.
[[nodiscard]] std::string describe_section(const ProfileBook& rules, const std::string& path);

}  // namespace dlo
