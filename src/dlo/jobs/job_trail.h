#pragma once

#include <string>

#include "dlo/jobs/job.h"

namespace dlo {

/// A job as the trail keeps it: without what may be a value of a message (R25). In its query the
/// mask stands for what is looked for in headers, payloads and error texts: a digest of a few
/// digits would tell them to whoever tries all of them, and which records it came to is in the
/// entries of its steps. Recipe and headers that are set are digests.
[[nodiscard]] Job for_trail(Job job);

}  // namespace dlo
