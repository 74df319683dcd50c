#pragma once

#include <string>
#include <vector>

#include "dlo/core/dead_letter.h"
#include "dlo/jobs/job.h"
#include "dlo/store/query.h"

namespace dlo {

// A replay in order of keys. Nothing overtakes an earlier one of its key: it goes in waves in which
// every key stands once, each after the outcome of the one before; and once one of a key cannot be
// sent or comes back, the rest of that key stays where it is. No list of keys is kept but of those
// that are held up, and that is bounded: a fix that fails for more of them is no fix.

inline constexpr std::size_t most_held = 500;

/// What messages of one key that go to one place have in common; empty for those without a key.
[[nodiscard]] std::string key_mark(const std::string& target, const std::string& key);

/// How many of `rows`, from the first, can go in one wave: before the first whose key was there.
[[nodiscard]] std::size_t wave_of(const std::vector<RecordHead>& rows, const ReplaySpec& spec);

[[nodiscard]] bool is_held(const JobProgress& progress, const std::string& mark);
/// Nothing more of this key; nothing happens to messages without one.
void hold(JobProgress& progress, const std::string& mark);

}  // namespace dlo
