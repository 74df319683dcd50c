#pragma once

#include <string>

namespace dlo::postgres {

/// The columns of a head in the order of sql::column, of `records r`. There are no seats here: that
/// column is 0. Inline, because statements in other files are made of it before `main`.
inline const std::string head_columns =
    "r.number, r.id, r.occurrence, r.status, r.source, r.category, r.grp, r.event_type, r.key, "
    "r.message_id, r.reason, r.error_type, r.died_at, r.next_retry_at, r.lease, r.lease_until, "
    "r.version, r.change, r.fetches, r.attempts, r.failures, r.abandons, r.retries, r.replays, "
    "r.total, r.most, r.payload_size, r.flags, r.tries, 0::bigint, r.kind, r.instance, "
    "r.error_text, r.priority";

}  // namespace dlo::postgres
