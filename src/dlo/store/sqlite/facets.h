#pragma once

#include <cstdint>
#include <string_view>

#include "dlo/core/dead_letter.h"
#include "dlo/store/query.h"
#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {

/// Small hashes of what people filter by, side by side in one number that every index of a common
/// field carries. So a query with several filters passes over the rows of its lead inside the
/// index, ten times as fast as by reading each record; what is left is judged as ever.
/// In the file: other bits or another hash need a migration.
using Facets = std::int64_t;

[[nodiscard]] Facets facets_of(const DeadLetter& record) noexcept;

/// What the facets of a row must look like for it to fit. Never wrong about a row that fits.
struct FacetMask {
  Facets bits = 0;
  Facets wanted = 0;
  [[nodiscard]] bool may_fit(Facets facets) const noexcept { return (facets & bits) == wanted; }
};
[[nodiscard]] FacetMask facets_of(const Query& query) noexcept;

/// Where each hash lies: 63 bits, so that no facets are negative; more for what has more values.
struct FacetPlace {
  unsigned shift;
  unsigned width;
  [[nodiscard]] constexpr Facets bits() const noexcept {
    return ((Facets{1} << width) - 1) << shift;
  }
};
namespace facet {
inline constexpr FacetPlace source{0, 12}, category{12, 8}, group{20, 16}, event_type{36, 12},
    error_type{48, 8}, reason{56, 7};
}  // namespace facet

/// `facets(source, category, grp, event_type, error_type, reason)` in SQL, for migrations.
void define_facets(Connection& db);

}  // namespace dlo::sqlite
