#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dlo/core/error.h"
#include "dlo/jobs/job.h"
#include "dlo/store/change.h"

namespace dlo {

/// Somebody else changed or removed a record first.
[[nodiscard]] bool is_overtaken(const Error& error) noexcept;

/// It may work later, as it is.
[[nodiscard]] bool will_pass(const Error& error) noexcept;

/// Why a version was made by a job, for whoever reads it later.
[[nodiscard]] std::string why_of(const Job& job);

/// What the trail keeps of a text that may hold values of messages: enough to know it again (R25).
[[nodiscard]] std::string digest_json(std::string_view text);

/// A member that is a list of texts, left out if there are none.
void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts);

/// How many went from which status to which. Of what only changes a record both are the same.
using Moves = std::map<std::pair<Status, Status>, std::uint64_t>;

/// One entry for many: how many, what they were and are, and a digest by which a list of ids can be
/// checked (R25).
[[nodiscard]] AddAudit audit_of(const Job& job, std::span<const RecordId> acted_on,
                                const Moves& moves, TimePoint now);

}  // namespace dlo
