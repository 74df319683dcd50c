#include "dlo/jobs/job_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/former.h"

namespace dlo {
namespace {

/// One record and what is to be written for it.
struct Item {
  RecordId id;
  std::vector<Change> changes;  // empty: refused
};

Result<Item> plan(Office& office, const Job& job, const RecordHead& head, TimePoint now) {
  Item item{head.id, {}};
  if (!is_possible(job.spec.act, head.status)) return item;
  Status former = head.status;
  if (job.spec.act == Act::restore) {
    const auto found = former_status(office, head.id);
    if (!found) return found.error();
    former = *found;
  }
  Transition move;
  move.id = head.id;
  move.expected_version = head.version;
  move.to = target_of(job.spec.act, former);
  move.now = now;
  if (job.spec.act == Act::resolve) {
    move.resolution = Resolution{now, job.spec.by.empty() ? job.created_by : job.spec.by,
                                 job.spec.how.empty() ? "job" : job.spec.how, job.spec.notes};
  }
  item.changes.emplace_back(std::move(move));
  if (job.spec.act != Act::restore) {
    item.changes.emplace_back(remember_status(head.id, head.status));
  }
  return item;
}

class Step {
 public:
  Step(Office& office, const Job& job, JobProgress progress, TimePoint now)
      : office_(office), job_(job), progress_(std::move(progress)), now_(now) {}

  Result<JobProgress> run(const Page& page) {
    std::vector<Item> items;
    for (const RecordHead& head : page.rows) {
      auto item = plan(office_, job_, head, now_);
      if (!item) return item.error();
      items.push_back(std::move(*item));
    }
    std::vector<const Item*> all;
    for (const Item& item : items) all.push_back(&item);
    auto written = write(all, {}, page.next);
    // Somebody changed one of them meanwhile: then one by one, to find out which.
    if (!written && is_overtaken(written.error())) written = one_by_one(all, page.next);
    if (!written) return written.error();
    return progress_;
  }

 private:
  Result<void> one_by_one(const std::vector<const Item*>& all, const std::optional<Cursor>& next) {
    // What was done, by us or others, is no longer in the set (its change is newer); what is
    // refused still is. So the cursor moves with the refused ones, at the end.
    std::vector<const Item*> refused;
    for (const Item* item : all) {
      if (item->changes.empty()) {
        refused.push_back(item);
        continue;
      }
      auto written = write({item}, {}, progress_.after);
      if (!written && is_overtaken(written.error())) written = write({}, {item}, progress_.after);
      if (!written) return written;
    }
    return write(refused, {}, next);
  }

  /// `done`: carried out, or refused; `changed`: left alone.
  Result<void> write(const std::vector<const Item*>& done, const std::vector<const Item*>& changed,
                     const std::optional<Cursor>& after) {
    JobProgress progress = progress_;
    progress.after = after;
    std::vector<Change> changes;
    JobCheckpoint checkpoint{job_.id, {}, {}};
    std::vector<RecordId> acted;
    for (const Item* item : done) {
      for (const Change& change : item->changes) changes.push_back(change);
      const bool refused = item->changes.empty();
      checkpoint.outcomes.emplace_back(item->id, refused ? item_refused : item_ok);
      ++(refused ? progress.counts.refused : progress.counts.ok);
      if (!refused) acted.push_back(item->id);
    }
    for (const Item* item : changed) {
      checkpoint.outcomes.emplace_back(item->id, item_changed);
      ++progress.counts.changed;
    }
    checkpoint.cursor = to_json(progress);
    changes.emplace_back(std::move(checkpoint));
    if (!acted.empty()) changes.emplace_back(audit_of(job_, acted, now_));
    const auto applied = office_.apply(changes);
    if (!applied) return applied.error();
    progress_ = std::move(progress);
    return {};
  }

  Office& office_;
  const Job& job_;
  JobProgress progress_;
  TimePoint now_;
};

}  // namespace

Result<Stepped> step(Office& office, const Job& job, const JobProgress& progress, std::size_t most,
                     TimePoint now) {
  if (job.spec.limit) {
    const auto left = *job.spec.limit - std::min(*job.spec.limit, progress.counts.total());
    if (left == 0) return Stepped{progress, true};
    most = std::min<std::uint64_t>(most, left);
  }
  auto query = query_of(job);
  if (!query) return query.error();
  query->after = progress.after;
  query->limit = most;
  const auto page = office.list(*query);
  if (!page) return page.error();
  if (page->rows.empty() && !page->next) return Stepped{progress, true};
  auto stepped = Step(office, job, progress, now).run(*page);
  if (!stepped) return stepped.error();
  return Stepped{std::move(*stepped), !page->next.has_value()};
}

}  // namespace dlo
