#include "dlo/jobs/job_freeze.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace dlo {
namespace {

constexpr std::size_t slice_size = 1'000;
constexpr std::size_t items_page = 500;

/// Adds the next slice to `items`; false if it took long.
Result<bool> add_planned(Office& office, const Job& job, JobProgress& progress,
                         JobCheckpoint& items) {
  const std::uint64_t limit = job.spec.limit.value_or(UINT64_MAX);
  const std::uint64_t left = limit - std::min(limit, progress.planned);
  const auto slice =
      read_slice(office, job, progress.frozen, std::min<std::uint64_t>(slice_size, left));
  if (!slice) return slice.error();
  for (const RecordHead& head : slice->rows) items.outcomes.emplace_back(head.id, item_planned);
  progress.planned += slice->rows.size();
  progress.frozen = slice->next.value_or(JobPlace{});
  progress.freezing = slice->next && progress.planned < limit;
  return !slice->partial;
}

Result<Stepped> write(Office& office, JobCheckpoint checkpoint, JobProgress next) {
  checkpoint.cursor = to_json(next);
  const Change change = std::move(checkpoint);
  const auto applied = office.apply({&change, 1});
  if (!applied) return applied.error();
  return Stepped{std::move(next)};
}

/// Whether the set ends where `progress` says, and `slice` is read in the same order as it was.
bool ends_there(const JobSlice& slice, const JobPlace& end) {
  if (!slice.next || !slice.next->record || !end.record) return true;
  return slice.next->record->walk == end.record->walk;
}

}  // namespace

Result<JobCheckpoint> freeze(Office& office, const Job& job) {
  JobCheckpoint checkpoint{job.id, {}, {}};
  JobProgress progress;
  progress.freezing = true;
  while (progress.freezing && checkpoint.outcomes.size() < most_planned_at_once) {
    const auto quick = add_planned(office, job, progress, checkpoint);
    if (!quick) return quick.error();
    if (!*quick) break;  // a plan does not wait for a slow query
  }
  checkpoint.cursor = to_json(progress);
  return checkpoint;
}

Result<Stepped> freeze_on(Office& office, const Job& job, const JobProgress& progress) {
  JobCheckpoint checkpoint{job.id, {}, {}};
  JobProgress next = progress;
  if (auto added = add_planned(office, job, next, checkpoint); !added) return added.error();
  return write(office, std::move(checkpoint), std::move(next));
}

Result<JobSlice> read_on(Office& office, const Job& job, const JobProgress& progress,
                         std::size_t most) {
  auto slice = read_slice(office, job, progress.after, most);
  const bool bounded = job.spec.limit && progress.planned > 0 && progress.frozen != JobPlace{};
  if (!slice || !bounded) return slice;
  std::vector<RecordHead> planned;
  for (RecordHead& head : slice->rows) {
    const auto item = office.extras().ledger->document(job_item_kind(job.id), to_string(head.id));
    if (!item) return item.error();
    if (*item) planned.push_back(std::move(head));
  }
  const bool beyond = planned.size() < slice->rows.size();
  slice->rows = std::move(planned);
  if (beyond && ends_there(*slice, progress.frozen)) slice->next.reset();
  return slice;
}

bool has_missing(const JobProgress& progress) noexcept {
  return progress.listed && !progress.accounted && progress.counts.total() < progress.planned;
}

Result<Stepped> account_for(Office& office, const Job& job, const JobProgress& progress) {
  const auto items = office.extras().ledger->documents(job_item_kind(job.id),
                                                       progress.accounted_up_to, items_page);
  if (!items) return items.error();
  JobCheckpoint checkpoint{job.id, {}, {}};
  JobProgress next = progress;
  for (const Document& item : *items) {
    const auto id = parse_id(item.key);
    if (!id || item.body != item_planned) continue;
    checkpoint.outcomes.emplace_back(RecordId{*id}, item_changed);
    ++next.counts.changed;
  }
  next.accounted = items->size() < items_page;
  next.accounted_up_to = next.accounted ? std::string() : items->back().key;
  return write(office, std::move(checkpoint), std::move(next));
}

}  // namespace dlo
