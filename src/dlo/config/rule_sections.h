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

/// Sections whose entries have names that users choose.
inline constexpr std::array<std::string_view, 3> rule_sections = {"profiles", "sources",
                                                                  "executors"};
[[nodiscard]] bool is_rule_section(std::string_view name);

/// `profiles.NAME`: a rule set of one's own on top of another; `sources.NAME`: what differs for one
/// source; `executors.NAME`: who runs retries. Fills `reading.config.rules`, works in the settings
/// of `service_bus` and `workflow`, and adds whatever is wrong to the problems.
void read_rule_sections(const std::vector<TextEntry>& sections, const RegexCompiler& regex,
                        ConfigReading& reading);

/// One line about `profiles.NAME` or `sources.NAME`.
[[nodiscard]] std::string describe_section(const ProfileBook& rules, const std::string& path);

}  // namespace dlo
