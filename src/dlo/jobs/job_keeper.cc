#include "dlo/jobs/job_keeper.h"

#include <string>
#include <utility>
#include <vector>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/job_index.h"
#include "dlo/jobs/job_trail.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

constexpr const char* leftover_kind = "job_leftover";  // the job is gone, items of it are not
constexpr std::size_t jobs_at_once = 50;
constexpr std::size_t items_at_once = 500;  // in one write
constexpr std::size_t most_writes = 10;

Change gone(std::string kind, std::string key) {
  return PutDocument{std::move(kind), std::move(key), std::nullopt, std::nullopt};
}

class Keeper {
 public:
  Keeper(Office& office, Millis keep, TimePoint now)
      : office_(office), ledger_(*office.extras().ledger), due_(now - keep), now_(now) {}

  /// The next few jobs that are due.
  Result<std::size_t> jobs() {
    const auto entries = ledger_.documents(forget_kind, "", jobs_at_once);
    if (!entries) return entries.error();
    std::size_t removed = 0;
    for (const Document& entry : *entries) {
      const auto read = parse_forget_key(entry.key);
      if (read && read->since > due_) break;
      std::vector<Change> changes{gone(forget_kind, entry.key)};
      if (read) {
        const auto added = add(*read, changes);
        if (!added) return added.error();
        if (!*added) continue;  // not yet
      }
      const auto applied = office_.apply(changes);
      if (!applied && is_overtaken(applied.error())) continue;
      if (!applied) return applied.error();
      ++removed;
    }
    return removed;
  }

  /// Items of jobs that are gone.
  Result<std::size_t> items() {
    std::size_t removed = 0;
    for (std::size_t i = 0; i < most_writes; ++i) {
      const auto left = ledger_.documents(leftover_kind, "", 1);
      if (!left) return left.error();
      if (left->empty()) break;
      const std::string job = left->front().key;
      const auto some = ledger_.documents(job_item_kind(job), "", items_at_once);
      if (!some) return some.error();
      std::vector<Change> changes;
      for (const Document& each : *some) changes.push_back(gone(job_item_kind(job), each.key));
      if (some->size() < items_at_once) changes.push_back(gone(leftover_kind, job));
      const auto applied = office_.apply(changes);
      if (!applied) return applied.error();
      removed += some->size();
    }
    return removed;
  }

 private:
  /// False: something of it is still under way. An entry that is not true any more only goes.
  Result<bool> add(const ForgetEntry& entry, std::vector<Change>& changes) {
    const auto found = ledger_.document(job_kind, entry.job);
    if (!found) return found.error();
    if (!*found) return true;
    const auto job = parse_job((*found)->body);
    if (!job || idle_since(*job) != entry.since) return true;
    const auto unfinished = ledger_.document(wind_up_kind, job->id);
    if (!unfinished) return unfinished.error();
    if (*unfinished) return false;
    const auto progress = ledger_.document(std::string(job_cursor_kind), job->id);
    if (!progress) return progress.error();
    // Whoever starts a planned one at this very moment is first, or finds that it is gone.
    changes.emplace_back(PutDocument{job_kind, job->id, std::nullopt, (*found)->version});
    remove_index(*job, changes);
    changes.push_back(gone(std::string(job_cursor_kind), job->id));
    changes.emplace_back(PutDocument{leftover_kind, job->id, "{}", std::nullopt});
    changes.emplace_back(AddAudit{now_, "office", std::string(job_removal_act), "job " + job->id,
                                  report_of(*job, *progress)});
    return true;
  }

  static std::string report_of(const Job& job, const std::optional<Document>& kept) {
    JsonWriter out;
    out.begin_object().key("job").raw(to_json(for_trail(job)));
    const auto progress =
        kept ? parse_job_progress(kept->body) : Result<JobProgress>(JobProgress{});
    if (progress) {
      const JobCounts& counts = progress->counts;
      out.key("report").begin_object();
      out.member("ok", counts.ok).member("changed", counts.changed);
      out.member("refused", counts.refused).member("looped", counts.looped);
      out.member("verified", counts.verified).member("presumed", counts.presumed);
      out.member("returned", counts.returned).member("behind", counts.behind);
      out.member("taken_over", counts.taken_over);
      write_returned(out, *progress);
      write_unreachable(out, *progress);
      out.end_object();
    }
    return out.end_object().take();
  }

  Office& office_;
  Ledger& ledger_;
  const TimePoint due_;
  const TimePoint now_;
};

}  // namespace

Result<std::size_t> forget_jobs(Office& office, Millis keep, TimePoint now) {
  if (office.extras().ledger == nullptr) return std::size_t{0};
  if (auto adopted = adopt_older_jobs(office); !adopted) return adopted.error();
  Keeper keeper(office, keep, now);
  const auto jobs = keeper.jobs();
  if (!jobs) return jobs.error();
  const auto items = keeper.items();
  if (!items) return items.error();
  return *jobs + *items;
}

}  // namespace dlo
