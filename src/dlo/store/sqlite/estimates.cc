#include "dlo/store/sqlite/estimates.h"

#include <array>

#include "dlo/store/sql/head.h"

namespace dlo::sqlite {
namespace {

constexpr int tallies_read = 5000;

class Classes {
 public:
  explicit Classes(const RowFilter& filter) {
    for (const Status status : all_statuses()) {
      if (filter.wants(status)) wanted_.at(static_cast<std::size_t>(class_of(status))) = true;
    }
  }
  [[nodiscard]] bool want(Status status) const {
    return wanted_.at(static_cast<std::size_t>(class_of(status)));
  }

 private:
  std::array<bool, 3> wanted_{};
};

}  // namespace

Estimates read_estimates(Readers::Turn& turn, const Query& query, const RowFilter& filter) {
  Estimates found;
  found.nothing_fits = true;
  const Classes classes(filter);
  int seen = 0;
  Rows rows(turn("SELECT source, status, category, count FROM tallies WHERE count > 0 LIMIT ?")
                .bind(tallies_read));
  for (; rows.next(); ++seen) {
    const auto status = rows->as<Status>(1);
    const auto count = rows->as<std::uint64_t>(3);
    const bool is_source = !query.source || rows->view(0) == *query.source;
    const bool is_category = !query.category || rows->view(2) == *query.category;
    if (is_source && is_category && filter.wants(status)) found.nothing_fits = false;
    if (filter.wants(status)) found.by_status += count;
    if (!classes.want(status)) continue;
    found.all += count;
    if (is_source) found.by_source += count;
    if (is_category) found.by_category += count;
  }
  if (seen == tallies_read) found.nothing_fits = false;
  return found;
}

}  // namespace dlo::sqlite
