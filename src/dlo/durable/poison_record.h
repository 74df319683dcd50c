#pragma once

#include <optional>
#include <string>

#include "dlo/broker/broker.h"
#include "dlo/core/abandon.h"
#include "dlo/core/dead_letter.h"
#include "dlo/core/profile.h"
#include "dlo/store/query.h"

namespace dlo {

[[nodiscard]] Poison poison_of(const Delivery& delivery, const AbandonDecision& decision,
                               const std::optional<std::string>& error);

/// The same again, from the record it left.
[[nodiscard]] Poison poison_of(const DeadLetter& record, const Profile& profile);

/// The record a poisoned item becomes, but for its name (see engine/writer.h). Pure.
[[nodiscard]] DeadLetter poison_record(const Delivery& delivery, const AbandonDecision& decision,
                                       const Poison& poison, const Profile& profile,
                                       const std::string& node, TimePoint now);

/// The message a retry sends: its newest version, with its lineage in two headers.
[[nodiscard]] Publication replay_of(const RecordDetail& detail, const Counters& counters);

}  // namespace dlo
