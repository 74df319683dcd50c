#include "dlo/store/count.h"

#include <utility>

namespace dlo {
namespace {

constexpr std::size_t counted_at_once = 1'000;

}  // namespace

Result<std::uint64_t> count_matching(Office& office, Query query) {
  query.limit = counted_at_once;
  std::uint64_t count = 0;
  do {
    auto page = office.list(query);
    if (!page) return page.error();
    count += page->rows.size();
    query.after = std::move(page->next);
  } while (query.after);
  return count;
}

}  // namespace dlo
