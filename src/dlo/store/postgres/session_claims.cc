// Whose turn it is: leases that are over, and records that are due.
#include <algorithm>

#include "dlo/store/postgres/columns.h"
#include "dlo/store/postgres/session.h"

namespace dlo::postgres {

using namespace sql;  // NOLINT: what every office on SQL shares

namespace {

const std::string ended =
    "SELECT " + head_columns +
    " FROM records r WHERE r.lease_until <= $1 ORDER BY r.lease_until LIMIT $2";

}  // namespace

std::vector<Head> Session::ended_leases(TimePoint now, std::size_t limit) {
  flush();
  std::vector<Head> heads;
  const Rows rows = link_.use().ask(ended, Params(now, limit));
  lay_rows(rows, false);
  for (const Row row : rows) heads.push_back(*sheet_of(RecordId{row.id(column::id)}).head);
  return heads;
}

std::vector<Head> Session::due(TimePoint now, const ClaimFrom& from, std::size_t limit) {
  flush();
  const std::string of_source =
      from.source.empty() ? ""
                          : " AND substr(r.source, 1, 128) = substr($3, 1, 128) AND r.source = $3";
  const std::string without = from.without.empty() ? "" : " AND r.source <> ALL($4)";
  const std::size_t bounded = std::min<std::size_t>(limit, 1U << 20U);
  Connection& db = link_.use();
  for (std::size_t priority = 0; priority < priorities; ++priority) {
    db.send("SELECT " + head_columns + " FROM records r WHERE r.priority = " +
                std::to_string(priority) + " AND r.due_at <= $1" + of_source + without +
                " ORDER BY r.due_at, r.number LIMIT $2 FOR UPDATE SKIP LOCKED",
            Params(now, bounded, from.source, from.without));
  }
  struct Due {
    TimePoint turn{};
    std::int64_t number = 0;
    RecordId id;
  };
  std::vector<Due> found;
  for (const Rows& rows : db.finish()) {
    lay_rows(rows, false);
    for (const Row row : rows) {
      found.push_back({turn_of(row.time(column::next_retry_at), row.as<Priority>(column::priority)),
                       row.number(column::number), RecordId{row.id(column::id)}});
    }
  }
  std::ranges::sort(found, {}, [](const Due& due) { return std::pair(due.turn, due.number); });
  if (found.size() > limit) found.resize(limit);
  std::vector<Head> heads;
  for (const Due& due : found) heads.push_back(*sheet_of(due.id).head);
  return heads;
}

}  // namespace dlo::postgres
