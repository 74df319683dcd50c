#include "dlo/jobs/replay_keeper.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dlo/jobs/batch.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

constexpr std::size_t at_once = 200;
constexpr std::size_t cursors_page = 500;
constexpr Millis a_moment{1};

/// Whether a job still deals with what it took.
Result<bool> is_at_it(JobBook& book, const std::string& id,
                      const std::vector<std::string>& winding_up) {
  if (std::find(winding_up.begin(), winding_up.end(), id) != winding_up.end()) return true;
  const auto job = book.get(id);
  if (!job && job.error().code == Code::not_found) return false;
  if (!job) return job.error();
  return job->state == JobState::running || job->state == JobState::paused;
}

/// What jobs have in hand.
Result<std::set<RecordId>> in_hand(Office& office, JobBook& book) {
  const auto winding_up = book.to_wind_up();
  if (!winding_up) return winding_up.error();
  std::set<RecordId> all;
  std::string after;
  while (true) {
    const auto cursors =
        office.extras().ledger->documents(std::string(job_cursor_kind), after, cursors_page);
    if (!cursors) return cursors.error();
    for (const Document& each : *cursors) {
      const auto progress = parse_job_progress(each.body);
      if (!progress || progress->sending.empty()) continue;
      const auto alive = is_at_it(book, each.key, *winding_up);
      if (!alive) return alive.error();
      if (!*alive) continue;
      for (const Taken& taken : progress->sending) all.insert(taken.id);
    }
    if (cursors->size() < cursors_page) return all;
    after = cursors->back().key;
  }
}

/// True if it went back; false while its lease is live, or if somebody was quicker.
Result<bool> reclaim(Office& office, const RecordHead& head, TimePoint now) {
  Transition mine;  // a lease that is live stands in the way of another
  mine.id = head.id;
  mine.expected_version = head.version;
  mine.to = Status::replaying;
  mine.lease_for = a_moment;
  mine.now = now;
  Transition back;
  back.id = head.id;
  back.to = Status::pending;
  back.now = now;
  JsonWriter json;
  json.begin_object().member("source", head.source).end_object();
  const std::vector<Change> changes{
      mine, back,
      AddAudit{now, "office", std::string(reclaim_act), to_string(head.id), json.take()}};
  const auto applied = office.apply(changes);
  if (!applied && is_overtaken(applied.error())) return false;
  if (!applied) return applied.error();
  return true;
}

}  // namespace

Result<std::size_t> reclaim_replaying(Office& office, JobBook& book, TimePoint now) {
  std::size_t reclaimed = 0;
  if (office.extras().ledger == nullptr) return reclaimed;
  Query query;
  query.statuses = {Status::replaying};
  query.order = Order::oldest_first;
  query.limit = at_once;
  std::optional<std::set<RecordId>> held;
  do {
    const auto page = office.list(query);
    if (!page) return page.error();
    for (const RecordHead& head : page->rows) {
      if (!held) {
        auto all = in_hand(office, book);
        if (!all) return all.error();
        held = std::move(*all);
      }
      if (held->contains(head.id)) continue;
      const auto back = reclaim(office, head, now);
      if (!back) return back.error();
      reclaimed += *back ? 1 : 0;
    }
    query.after = page->next;
  } while (query.after);
  return reclaimed;
}

}  // namespace dlo
