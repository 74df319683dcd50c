// What becomes of a task that waits, by what is known of those it waits for.
#include "dlo/retries/dependencies.h"
#include "dlo/retries/task_book.h"

namespace dlo {
namespace {

/// A head does not say how its record was resolved: those that are put away are read whole.
Result<Awaited> state_of(Office& office, const std::string& source, const std::string& task) {
  const auto newest = newest_of(office, source, task);
  if (!newest) return newest.error();
  if (!*newest) return awaited(std::nullopt, false);
  const Status status = (*newest)->status;
  if (awaited(status, false) != Awaited::gone) return awaited(status, false);
  const auto detail = office.get((*newest)->id);
  if (!detail && detail.error().code != Code::not_found) return detail.error();
  if (!detail) return awaited(std::nullopt, false);  // removed meanwhile
  return awaited(detail->record.status, detail->record.resolution.has_value());
}

}  // namespace

Result<std::vector<std::string>> Dependencies::way_back(const Held& held) const {
  return find_cycle(held.task, held.tasks, [&](const std::string& each) {
    std::vector<std::string> tasks;
    const auto found = by_task_.find(name_in(held.source, each));
    if (found == by_task_.end()) return tasks;
    for (const Ticket ticket : found->second) {
      const Held& other = held_.at(ticket);
      tasks.insert(tasks.end(), other.tasks.begin(), other.tasks.end());
    }
    return tasks;
  });
}

Result<DependencyVerdict> Dependencies::verdict_on(Held& held) {
  std::vector<Prerequisite> tasks;
  for (const std::string& task : held.tasks) {
    const auto state = state_of(office_, held.source, task);
    if (!state) return state.error();
    tasks.push_back({task, remembered(*state, held.given_up.contains(task))});
    if (tasks.back().state == Awaited::gone) {
      held.given_up.insert(task);
    } else {
      held.given_up.erase(task);
    }
  }
  {
    // Somebody may have put one back behind which others wait meanwhile.
    const std::lock_guard lock(mutex_);
    const auto way = way_back(held);
    if (way && !way->empty()) return DependencyVerdict(blocked_by_cycle(*way));
  }
  return judge(tasks, held.reported_at, timeout_, clock_.now());
}

void Dependencies::give_up(const RecordHead& removed) {
  const auto found = waiting_on_.find(name_in(removed.source, removed.message_id));
  if (found == waiting_on_.end()) return;
  for (const Ticket ticket : found->second) held_.at(ticket).given_up.insert(removed.message_id);
}

void Dependencies::judged(Ticket ticket, const Held& held, const DependencyVerdict& verdict) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(ticket);
  if (found == held_.end()) return;
  found->second.blocked = std::holds_alternative<Blocked>(verdict);
  found->second.given_up = held.given_up;
}

}  // namespace dlo
