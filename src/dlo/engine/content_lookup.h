#pragma once

#include <functional>
#include <optional>

#include "dlo/store/office.h"

namespace dlo {

/// The record under `id`; nothing if there is none.
[[nodiscard]] Result<std::optional<DeadLetter>> find_record(Office& office, const RecordId& id);

/// The record of a message that only its content tells: a repeat of one whose source nobody has
/// seen settled, and of nothing else (R3). `wanted` may pass over some that are alike.
[[nodiscard]] Result<std::optional<DeadLetter>> find_by_content(
    Office& office, const Message& message,
    const std::function<bool(const DeadLetter&)>& wanted = {});

}  // namespace dlo
