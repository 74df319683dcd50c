#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/store/query.h"

namespace dlo {

/// Longer texts are refused.
inline constexpr std::size_t longest_query_text = 64 * 1024;

/// The query language of the API, the CLI and the UI; docs/query.md describes it and is tested.
/// Terms apart by blanks, all of which must hold: `status:open source:a,b -node:n1 age:>2d
/// error:"timed out" header.tenant:acme body.order.id:7`, and free words, which are searched for in
/// error texts. Ages and durations are taken from `now`.
/// Refuses what it does not understand, with the column (characters, from 1), what was expected
/// there, the nearest spelling and what is allowed. Takes time linear in the text.
[[nodiscard]] Result<Query> parse_query(std::string_view text, TimePoint now);

/// The text of a query: parse_query(print_query(q), any time) is q again, for every q that
/// parse_query gives. Times are printed as dates, so the text means the same tomorrow. Limit,
/// cursor and time box belong to a listing, not to its question, and are not printed.
[[nodiscard]] std::string print_query(const Query& query);

}  // namespace dlo
