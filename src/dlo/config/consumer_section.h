#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "dlo/core/text_tree.h"

namespace dlo {

struct ConfigReading;

/// Settings of `sources.NAME` beside those of its rules.
inline constexpr std::array<std::string_view, 12> consumer_settings = {
    "rabbitmq", "handler",  "profile", "event_type", "dead_letter_queue", "prefetch",
    "format",   "required", "inner",   "invalid",    "log_done",          "on_death"};
[[nodiscard]] inline bool is_consumer_setting(std::string_view name) {
  return std::ranges::find(consumer_settings, name) != consumer_settings.end();
}

/// `sources.NAME` with `rabbitmq`: a queue whose messages are handled here, such as
/// `{rabbitmq: payment_failed, handler: {http: 'http://localhost:9000/run'}, profile:
/// booking+safe}`. Read after profiles, executors and collectors. Fills `reading.config.consumers`;
/// whatever is wrong is a problem.
void read_consumers(const TextNode& section, ConfigReading& reading);

}  // namespace dlo
