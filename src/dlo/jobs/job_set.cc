#include "dlo/jobs/job_set.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dlo/core/spelling.h"
#include "dlo/jobs/job_index.h"
#include "dlo/jobs/job_step.h"
#include "dlo/store/count.h"

namespace dlo {
namespace {

constexpr std::size_t items_page = 500;
constexpr std::size_t counted_at_once = 1'000;
constexpr std::size_t most_passed_over = 10'000;  // in one slice

/// What a job did not do: what it refused, what somebody else had changed, what came back, what
/// was stopped by the loop guard or stood behind another of its key.
constexpr std::array<std::string_view, 5> failures = {item_refused, item_changed, item_returned,
                                                      item_looped, item_behind};

Result<Page> list_by_query(Office& office, Query query, const JobPlace& after, std::size_t limit) {
  query.after = after.record;
  query.limit = limit;
  return office.list(query);
}

/// Items of another job.
class Items {
 public:
  Items(Office& office, const Job& job, Query query)
      : office_(office),
        job_(job),
        query_(std::move(query)),
        kind_(job_item_kind(*job.spec.from_job)) {}

  [[nodiscard]] Result<void> check() const {
    const auto there = office_.extras().ledger->document(job_kind, *job_.spec.from_job);
    if (!there) return there.error();
    if (*there) return {};
    return Error{Code::not_found, "jobs.set",
                 "Job " + in_quotes(*job_.spec.from_job) +
                     " is gone: jobs that ended are kept for a while only (`jobs.keep`)."};
  }

  /// In order of ids.
  Result<JobSlice> by_id(const JobPlace& after, std::size_t limit) {
    JobSlice slice;
    std::string place = after.item;
    std::vector<RecordId> ids;
    bool more = true;
    for (std::size_t seen = 0; more && ids.size() < limit && seen < most_passed_over;) {
      const auto items = office_.extras().ledger->documents(kind_, place, items_page);
      if (!items) return items.error();
      more = items->size() == items_page;
      for (const Document& item : *items) {
        if (ids.size() == limit) {
          more = true;
          break;
        }
        place = item.key;
        ++seen;
        const auto id = parse_id(item.key);
        if (id && is_selected(job_.spec.outcome, outcome_name(item.body))) {
          ids.push_back(RecordId{*id});
        }
      }
    }
    if (more) slice.next = JobPlace{std::nullopt, place};
    slice.partial = more && ids.size() < limit;
    if (!ids.empty()) {
      if (auto read = look_up(std::move(ids), slice.rows); !read) return read.error();
    }
    return slice;
  }

  /// In the order of the query; each record is looked up among the items.
  Result<JobSlice> by_death(JobPlace after, std::size_t limit) {
    JobSlice slice;
    for (std::size_t seen = 0; slice.rows.empty() && seen < most_passed_over;) {
      auto page = list_by_query(office_, query_, after, limit);
      if (!page) return page.error();
      seen += std::max<std::size_t>(page->rows.size(), 1);
      for (RecordHead& head : page->rows) {
        const auto item = office_.extras().ledger->document(kind_, to_string(head.id));
        if (!item) return item.error();
        if (*item && is_selected(job_.spec.outcome, outcome_name((*item)->body))) {
          slice.rows.push_back(std::move(head));
        }
      }
      slice.next.reset();
      if (!page->next) break;
      after = JobPlace{page->next, {}};
      slice.next = after;
      slice.partial = page->partial;
      if (page->partial) break;
    }
    return slice;
  }

 private:
  Result<void> look_up(std::vector<RecordId> ids, std::vector<RecordHead>& rows) {
    Query query = query_;
    query.limit = ids.size();
    query.ids = std::move(ids);
    do {
      auto page = office_.list(query);
      if (!page) return page.error();
      for (RecordHead& head : page->rows) rows.push_back(std::move(head));
      query.after = page->next;
    } while (query.after);
    return {};
  }

  Office& office_;
  const Job& job_;
  const Query query_;
  const std::string kind_;
};

}  // namespace

std::string_view outcome_name(std::string_view item) noexcept {
  return item.substr(0, item.find(' '));
}

const std::vector<std::string_view>& selectable_outcomes() {
  static const std::vector<std::string_view> all{
      "failed",     item_planned, item_ok,        item_unchanged, item_changed,
      item_refused, "sent",       item_verified,  item_presumed,  item_returned,
      item_looped,  item_behind,  item_taken_over};
  return all;
}

bool is_selected(std::string_view wanted, std::string_view outcome) noexcept {
  if (wanted != "failed") return outcome == wanted;
  return std::find(failures.begin(), failures.end(), outcome) != failures.end();
}

Result<JobSlice> read_slice(Office& office, const Job& job, const JobPlace& after,
                            std::size_t limit) {
  auto query = query_of(job);
  if (!query) return query.error();
  if (job.spec.from_job) {
    Items items(office, job, std::move(*query));
    if (auto there = items.check(); !there) return there.error();
    return job.spec.by_key ? items.by_death(after, limit) : items.by_id(after, limit);
  }
  auto page = list_by_query(office, std::move(*query), after, limit);
  if (!page) return page.error();
  JobSlice slice{std::move(page->rows), std::nullopt, page->partial};
  if (page->next) slice.next = JobPlace{page->next, {}};
  return slice;
}

Result<std::uint64_t> count_set(Office& office, const Job& job) {
  const std::uint64_t most = job.spec.limit.value_or(UINT64_MAX);
  if (!job.spec.from_job) {
    auto query = query_of(job);
    if (!query) return query.error();
    const auto count = count_matching(office, std::move(*query));
    if (!count) return count.error();
    return std::min(*count, most);
  }
  std::uint64_t count = 0;
  std::optional<JobPlace> place = JobPlace{};
  while (place && count < most) {
    const auto slice = read_slice(office, job, *place, counted_at_once);
    if (!slice) return slice.error();
    count += slice->rows.size();
    place = slice->next;
  }
  return std::min(count, most);
}

}  // namespace dlo
