#pragma once

#include "dlo/store/rules.h"
#include "dlo/store/sql/codec.h"

namespace dlo::sql {

/// The columns `read_group` expects.
inline constexpr const char* group_columns =
    "fingerprint, title, status, owner, ticket, notes, snoozed_until, open, total, first_seen, "
    "last_seen, sample, category, source, version, resolved_at, regressed_at, repeats, tags, "
    "trend, "
    "strands";
/// Where some of them stand.
namespace group_column {
inline constexpr int fingerprint = 0;
inline constexpr int status = 2;
inline constexpr int owner = 3;
inline constexpr int open = 7;
inline constexpr int last_seen = 10;
}  // namespace group_column
/// The columns `read_strand` expects.
inline constexpr const char* strand_columns =
    "fingerprint, title, status, owner, ticket, notes, snoozed_until, open, total, first_seen, "
    "last_seen, sample, category, source, version, resolved_at, regressed_at, repeats, tags, "
    "trend, "
    "strands, into_group, since";

template <typename Row>
[[nodiscard]] GroupSummary read_group(const Row& row) {
  GroupSummary group;
  group.fingerprint = row.id(0);
  group.title = row.text(1);
  group.status = row.template as<GroupStatus>(2);
  group.owner = row.text(3);
  group.ticket = row.text(4);
  group.notes = row.text(5);
  group.snoozed_until = row.maybe_time(6);
  group.open = row.template as<std::uint64_t>(7);
  group.total = row.template as<std::uint64_t>(8);
  group.first_seen = row.time(9);
  group.last_seen = row.time(10);
  group.sample = RecordId{row.id(11)};
  group.category = row.text(12);
  group.source = row.text(13);
  group.version = row.template as<std::uint64_t>(14);
  group.resolved_at = row.maybe_time(15);
  group.regressed_at = row.maybe_time(16);
  group.repeats = row.template as<std::uint64_t>(17);
  group.tags = decode_tags(row.view(18));
  group.trend = decode_trend(row.view(19));
  group.strands = row.template as<std::uint32_t>(20);
  return group;
}

template <typename Row>
[[nodiscard]] Strand read_strand(const Row& row) {
  return {row.id(21), row.template as<std::uint64_t>(22), read_group(row)};
}

}  // namespace dlo::sql
