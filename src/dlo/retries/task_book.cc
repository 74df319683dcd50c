#include "dlo/retries/task_book.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "dlo/core/acts.h"
#include "dlo/core/sha256.h"
#include "dlo/core/spelling.h"
#include "dlo/store/count.h"

namespace dlo {
namespace {

constexpr std::size_t removed_at_once = 200;
constexpr Millis between_looks{50};
constexpr Millis patience{10'000};  // an index leads to what is looked for

std::vector<Status> open_statuses() {
  std::vector<Status> open;
  for (const Status status : all_statuses()) {
    if (is_open(status)) open.push_back(status);
  }
  return open;
}

Error conflict(std::string detail) {
  return {Code::conflict, "tasks", std::move(detail)};
}

}  // namespace

Result<std::optional<RecordHead>> newest_of(Office& office, const std::string& source,
                                            const std::string& task_id) {
  if (task_id.empty()) return std::optional<RecordHead>{};
  Query query;
  query.statuses.assign(all_statuses().begin(), all_statuses().end());
  query.message_id = task_id;
  if (!source.empty()) query.source = source;
  query.limit = 1;
  query.time_box = patience;
  while (true) {
    const auto page = office.list(query);
    if (!page) return page.error();
    if (!page->rows.empty()) return std::optional(page->rows.front());
    if (!page->next) return std::optional<RecordHead>{};
    query.after = page->next;
  }
}

Result<std::optional<DeadLetter>> TaskBook::find(const std::string& task_id) {
  const auto head = newest_of(office_, {}, task_id);
  if (!head) return head.error();
  if (!*head) return std::optional<DeadLetter>{};
  auto detail = office_.get((*head)->id);
  if (!detail && detail.error().code == Code::not_found) return std::optional<DeadLetter>{};
  if (!detail) return detail.error();
  return std::optional(std::move(detail->record));
}

Result<std::vector<DeadLetter>> TaskBook::list(std::optional<Status> status, std::size_t limit) {
  Query query;
  query.statuses = status ? std::vector<Status>{*status} : open_statuses();
  query.limit = limit;
  query.time_box = patience;
  const auto page = office_.list(query);
  if (!page) return page.error();
  std::vector<DeadLetter> records;
  for (const RecordHead& head : page->rows) {
    auto detail = office_.get(head.id);
    if (detail) {
      records.push_back(std::move(detail->record));
    } else if (detail.error().code != Code::not_found) {  // removed meanwhile
      return detail.error();
    }
  }
  return records;
}

Result<DeadLetter> TaskBook::known(const std::string& task_id) {
  auto found = find(task_id);
  if (!found) return found.error();
  if (*found) return std::move(**found);
  return Error{Code::not_found, "tasks", "There is no task " + in_quotes(task_id) + " here."};
}

Result<void> TaskBook::carry_out(const DeadLetter& record, Transition move, const char* act,
                                 std::vector<Change> also) {
  move.id = record.id;
  move.expected_version = record.version;
  move.now = clock_.now();
  std::vector<Change> changes{move};
  for (Change& change : also) changes.push_back(std::move(change));
  const std::string said = R"({"from":")" + std::string(name_of(record.status)) + R"(","to":")" +
                           std::string(name_of(move.to)) + R"(","version":)" +
                           std::to_string(record.version) + "}";
  changes.emplace_back(AddAudit{move.now, by_, act, to_string(record.id), said});
  const auto applied = office_.apply(changes);
  return applied ? Result<void>{} : applied.error();
}

/// Answers the record as it was before.
Result<DeadLetter> TaskBook::begin_retry(const std::string& task_id) {
  auto record = known(task_id);
  if (!record) return record.error();
  if (!is_possible(Act::retry, record->status)) {
    return conflict("Task " + in_quotes(task_id) + " is " + std::string(name_of(record->status)) +
                    "; only pending and exhausted ones can be retried.");
  }
  Transition move;
  move.to = Status::pending;
  move.next_retry_at = clock_.now();
  if (auto asked = carry_out(*record, move, "retry", {}); !asked) return asked.error();
  return record;
}

Result<void> TaskBook::retry(const std::string& task_id) {
  const auto begun = begin_retry(task_id);
  return begun ? Result<void>{} : begun.error();
}

Result<Retried> TaskBook::retry_and_wait(const std::string& task_id, Millis wait) {
  const auto before = begin_retry(task_id);
  if (!before) return before.error();
  const TimePoint until = clock_.now() + wait;
  std::mutex own;
  std::condition_variable nobody;
  std::unique_lock lock(own);
  while (true) {
    const TimePoint now = clock_.now();
    const auto detail = office_.get(before->id);
    if (!detail && (!is_retryable(detail.error().code) || now >= until)) return detail.error();
    if (detail) {
      const DeadLetter& record = detail->record;
      const RetryOutcome outcome = outcome_of_retry(
          {before->counters.failure, before->occurrence},
          {record.counters.failure, record.occurrence}, record.status,
          record.resolution ? std::string_view(record.resolution->how) : std::string_view());
      const bool failed = outcome == RetryOutcome::failed;
      if (outcome != RetryOutcome::awaited || now >= until) {
        return Retried{outcome, failed ? record.failure.text : std::string()};
      }
    }
    clock_.wait_until(lock, nobody, std::min(until, now + between_looks));
  }
}

Result<void> TaskBook::archive(const std::string& task_id) {
  const auto record = known(task_id);
  if (!record) return record.error();
  if (!is_possible(Act::archive, record->status)) {
    return conflict("Task " + in_quotes(task_id) + " is " + std::string(name_of(record->status)) +
                    "; nothing was changed.");
  }
  Transition move;
  move.to = Status::archived;
  std::vector<Change> also;
  if (is_open(record->status)) {  // the way back, as a restore reads it
    const Status before = carries_lease(record->status) ? Status::pending : record->status;
    also.emplace_back(PutDocument{former_kind, to_string(record->id), std::string(name_of(before)),
                                  std::nullopt});
  }
  return carry_out(*record, move, "archive", std::move(also));
}

Result<std::uint64_t> TaskBook::remove(const std::vector<RecordHead>& rows) {
  const TimePoint now = clock_.now();
  std::vector<Change> changes;
  Sha256 ids;
  for (const RecordHead& head : rows) {
    ids.update(to_string(head.id));
    Transition move;
    move.id = head.id;
    move.expected_version = head.version;
    move.now = now;
    move.to = Status::discarding;
    changes.emplace_back(move);
    move.expected_version.reset();
    move.to = Status::discarded;
    changes.emplace_back(move);
    changes.emplace_back(Remove{head.id});
  }
  // As a job says it: how many, and a digest by which a list of ids can be checked (R25).
  const std::string count = std::to_string(rows.size());
  changes.emplace_back(
      AddAudit{now, by_, "clear", count,
               R"({"count":)" + count + R"(,"ids_sha256":")" + to_hex(ids.finish()) + R"("})"});
  const auto applied = office_.apply(changes);
  if (!applied) return applied.error();
  return rows.size();
}

Result<std::uint64_t> TaskBook::clear(std::uint64_t expected) {
  AggregateRequest nothing;
  nothing.tallies = false;
  const auto numbers = office_.aggregate(nothing);
  if (!numbers) return numbers.error();
  Query query;
  query.statuses = open_statuses();
  query.changed_up_to = numbers->last_change;  // what comes in from now on is not counted
  query.time_box = patience;
  const auto open = count_matching(office_, query);
  if (!open) return open.error();
  if (auto same = check_count(*open, expected); !same) return same.error();
  query.limit = removed_at_once;
  std::uint64_t removed = 0;
  while (true) {
    const auto page = office_.list(query);
    if (!page) return page.error();
    if (!page->rows.empty()) {
      const auto gone = remove(page->rows);
      if (!gone) return gone.error();
      removed += *gone;
    }
    if (!page->next) return removed;
    query.after = page->next;
  }
}

}  // namespace dlo
