#include "dlo/jobs/job_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/drafts.h"
#include "dlo/jobs/former.h"
#include "dlo/jobs/job_freeze.h"
#include "dlo/jobs/job_set.h"

namespace dlo {
namespace {

/// One record and what is to be written for it.
struct Item {
  RecordId id;
  Status status = Status::pending;  // as it is
  std::vector<Change> changes;      // empty: nothing is to be done
  std::string_view outcome = item_refused;
};

Status status_after(const Item& item) {
  const auto* move = std::get_if<Transition>(&item.changes.front());
  return move != nullptr ? move->to : item.status;
}

/// Plans what a job does to one record.
class Planner {
 public:
  Planner(Office& office, const Job& job, const HasExecutor& has_executor, TimePoint now)
      : office_(office), job_(job), has_executor_(has_executor), now_(now) {}

  /// Refuses a recipe that cannot be read; everything else is the matter of one record.
  Result<void> begin() {
    if (job_.spec.act != Act::repair) return {};
    auto recipe = parse_recipe(job_.spec.recipe);
    if (!recipe) return recipe.error();
    recipe_ = std::move(*recipe);
    return {};
  }

  Result<Item> plan(const RecordHead& head) {
    Item item{head.id, head.status, {}};
    if (!is_possible(job_.spec.act, head.status)) return item;
    switch (job_.spec.act) {
      case Act::retry:
        return retry(head, std::move(item));
      case Act::tag:
        return tag(head, std::move(item));
      case Act::repair:
        return repair(head, std::move(item));
      case Act::regroup:
        return regroup(head, std::move(item));
      case Act::restore:
        return restore(head, std::move(item));
      case Act::quarantine:
        return done(std::move(item), move(head, Status::quarantined));
      case Act::resolve:
      case Act::archive:
      case Act::discard:
        break;
    }
    return close(head, std::move(item));
  }

 private:
  [[nodiscard]] Transition move(const RecordHead& head, Status to) const {
    Transition move;
    move.id = head.id;
    move.expected_version = head.version;
    move.to = to;
    move.now = now_;
    return move;
  }
  static Item done(Item item, Change change) {
    item.outcome = item_ok;
    item.changes.push_back(std::move(change));
    return item;
  }

  Result<Item> restore(const RecordHead& head, Item item) const {
    auto former = former_of(office_, head.id, head.status);
    if (!former) return former.error();
    item = done(std::move(item), move(head, former->status));
    for (Change& each : former->changes) item.changes.push_back(std::move(each));
    return item;
  }

  Result<Item> close(const RecordHead& head, Item item) const {
    Transition next = move(head, target_of(job_.spec.act, head.status));
    if (job_.spec.act == Act::resolve) {
      next.resolution = Resolution{now_, job_.spec.by.empty() ? job_.created_by : job_.spec.by,
                                   job_.spec.how.empty() ? "job" : job_.spec.how, job_.spec.notes};
    }
    item = done(std::move(item), std::move(next));
    if (job_.spec.act == Act::discard) {
      auto all = remember_discard(office_, head.id, head.status, now_);
      if (!all) return all.error();
      for (Change& each : *all) item.changes.push_back(std::move(each));
    } else {
      auto way = remember_status(office_, head.id, head.status);
      if (!way) return way.error();
      item.changes.push_back(std::move(*way));
    }
    return item;
  }

  Result<Item> retry(const RecordHead& head, Item item) const {
    if (has_executor_ && !has_executor_(head.source)) return item;  // it would wait for ever
    Transition next = move(head, Status::pending);
    next.next_retry_at = now_;
    return done(std::move(item), std::move(next));
  }

  Result<Item> tag(const RecordHead& head, Item item) const {
    const auto detail = office_.get(head.id);
    if (!detail && is_overtaken(detail.error())) return item;
    if (!detail) return detail.error();
    std::vector<std::string> tags = detail->record.tags;
    const auto has = [&tags](const std::string& each) {
      return std::find(tags.begin(), tags.end(), each) != tags.end();
    };
    for (const std::string& gone : job_.spec.remove_tags) std::erase(tags, gone);
    for (const std::string& come : job_.spec.tags) {
      if (!has(come)) tags.push_back(come);
    }
    item.outcome = item_unchanged;
    if (tags == detail->record.tags) return item;
    Transition next = move(head, head.status);
    next.tags = std::move(tags);
    return done(std::move(item), std::move(next));
  }

  Result<Item> regroup(const RecordHead& head, Item item) const {
    Transition next = move(head, head.status);
    next.fingerprint =
        Fingerprint{job_.spec.into.value_or(head.group), job_.spec.into_title, "split"};
    return done(std::move(item), std::move(next));
  }

  Result<Item> repair(const RecordHead& head, Item item) const {
    const auto detail = office_.get(head.id);
    if (!detail && is_overtaken(detail.error())) return item;
    if (!detail) return detail.error();
    const auto repair = check_recipe(office_, *detail, recipe_);
    if (!repair && will_pass(repair.error())) return repair.error();
    if (!repair || !check_schema(*repair)) return item;
    item.outcome = item_unchanged;
    if (!repair->changes()) return item;
    AddVersion version = version_of(detail->record, *repair, now_, job_.created_by, why_of(job_));
    version.expected_version = head.version;
    return done(std::move(item), std::move(version));
  }

  Office& office_;
  const Job& job_;
  const HasExecutor& has_executor_;
  TimePoint now_;
  Recipe recipe_;
};

class Step {
 public:
  Step(Office& office, const Job& job, JobProgress progress, TimePoint now)
      : office_(office), job_(job), progress_(std::move(progress)), now_(now) {}

  Result<JobProgress> run(const JobSlice& page, Planner& planner) {
    if (auto begun = planner.begin(); !begun) return begun.error();
    std::vector<Item> items;
    for (const RecordHead& head : page.rows) {
      auto item = planner.plan(head);
      if (!item) return item.error();
      items.push_back(std::move(*item));
    }
    std::vector<const Item*> all;
    for (const Item& item : items) all.push_back(&item);
    // Behind the last there is no place: that it was the last is written down instead.
    listed_ = !page.next;
    const JobPlace place = page.next.value_or(progress_.after);
    auto written = write(all, {}, place, listed_);
    // Somebody changed one of them meanwhile: then one by one, to find out which.
    if (!written && is_overtaken(written.error())) written = one_by_one(all, place);
    if (!written) return written.error();
    return progress_;
  }

 private:
  Result<void> one_by_one(const std::vector<const Item*>& all, const JobPlace& next) {
    // What was done, by us or others, is no longer in the set (its change is newer); what was
    // refused or is fine as it is still is. So the cursor moves with these, at the end.
    std::vector<const Item*> refused;
    for (const Item* item : all) {
      if (item->changes.empty()) {
        refused.push_back(item);
        continue;
      }
      auto written = write({item}, {}, progress_.after, false);
      if (!written && is_overtaken(written.error())) {
        written = write({}, {item}, progress_.after, false);
      }
      if (!written) return written;
    }
    return write(refused, {}, next, listed_);
  }

  /// `done`: carried out, or refused; `changed`: left alone.
  Result<void> write(const std::vector<const Item*>& done, const std::vector<const Item*>& changed,
                     const JobPlace& after, bool listed) {
    JobProgress progress = progress_;
    progress.after = after;
    progress.listed = listed;
    std::vector<Change> changes;
    JobCheckpoint checkpoint{job_.id, {}, {}};
    std::vector<RecordId> acted;
    Moves moves;
    for (const Item* item : done) {
      for (const Change& change : item->changes) changes.push_back(change);
      checkpoint.outcomes.emplace_back(item->id, item->outcome);
      ++(item->outcome == item_refused ? progress.counts.refused : progress.counts.ok);
      if (item->changes.empty()) continue;
      acted.push_back(item->id);
      ++moves[{item->status, status_after(*item)}];
    }
    for (const Item* item : changed) {
      checkpoint.outcomes.emplace_back(item->id, item_changed);
      ++progress.counts.changed;
    }
    checkpoint.cursor = to_json(progress);
    changes.emplace_back(std::move(checkpoint));
    if (!acted.empty()) changes.emplace_back(audit_of(job_, acted, moves, now_));
    const auto applied = office_.apply(changes);
    if (!applied) return applied.error();
    progress_ = std::move(progress);
    return {};
  }

  Office& office_;
  const Job& job_;
  JobProgress progress_;
  TimePoint now_;
  bool listed_ = false;  // nothing is left behind these
};

}  // namespace

Result<Stepped> step(Office& office, const Job& job, const JobProgress& progress, std::size_t most,
                     TimePoint now, const HasExecutor& has_executor) {
  if (progress.freezing) return freeze_on(office, job, progress);
  if (has_missing(progress)) {
    auto accounted = account_for(office, job, progress);
    if (accounted) accounted->over = !has_missing(accounted->progress);
    return accounted;
  }
  if (progress.listed) return Stepped{progress, true};  // only its end was not written down
  if (job.spec.limit) {
    const auto left = *job.spec.limit - std::min(*job.spec.limit, progress.counts.total());
    if (left == 0) return Stepped{progress, true};
    most = std::min<std::uint64_t>(most, left);
  }
  const auto page = read_on(office, job, progress, most);
  if (!page) return page.error();
  const bool all_seen = progress.counts.total() >= progress.planned;
  if (page->rows.empty() && !page->next && all_seen) return Stepped{progress, true};
  Planner planner(office, job, has_executor, now);
  auto stepped = Step(office, job, progress, now).run(*page, planner);
  if (!stepped) return stepped.error();
  const bool over = stepped->listed && !has_missing(*stepped);
  return Stepped{std::move(*stepped), over};
}

}  // namespace dlo
