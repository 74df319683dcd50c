#pragma once

#include <optional>
#include <string>

#include "dlo/core/text_tree.h"

namespace dlo {

struct ConfigReading;
struct ExecutorSettings;

/// `executors.NAME`: who runs retries, such as `{http: 'http://localhost:9000/run'}`. Fills
/// `reading.config.executors`; whatever is wrong is a problem.
void read_executors(const TextNode& section, ConfigReading& reading);

/// The same settings under another path; nothing if they are of no use.
[[nodiscard]] std::optional<ExecutorSettings> read_executor(const std::string& name,
                                                            const std::string& path,
                                                            const TextNode& node,
                                                            ConfigReading& reading);

}  // namespace dlo
