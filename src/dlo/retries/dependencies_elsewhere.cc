// Tasks that wait and tasks that end in other programs on the same office.
#include <algorithm>
#include <utility>

#include "dlo/retries/dependencies.h"

namespace dlo {
namespace {

constexpr std::size_t read_at_once = 500;
constexpr int most_pages = 20;  // of one look

}  // namespace

bool Dependencies::is_waiting(Status status, const std::string& reason) {
  return status == Status::pending && (reason == waits_reason || reason == blocked_reason);
}

std::optional<Dependencies::Ticket> Dependencies::look_up(const RecordId& id) {
  Ledger* const ledger = office_.extras().ledger;
  const auto document = ledger == nullptr ? Result<std::optional<Document>>(std::nullopt)
                                          : ledger->document(kind, to_string(id));
  if (!document || !*document || !load_one(**document)) return std::nullopt;
  return ticket_of(id);
}

Result<std::uint64_t> Dependencies::version_of(const RecordId& id) {
  const auto document = office_.extras().ledger->document(kind, to_string(id));
  if (!document) return document.error();
  return *document ? (*document)->version : 0;
}

/// The number first: whoever waits and is not found yet was written after it.
bool Dependencies::begin_following() {
  Ledger* const ledger = office_.extras().ledger;
  if (ledger == nullptr) return false;
  {
    const std::lock_guard lock(mutex_);
    if (!held_.empty()) return true;
  }
  AggregateRequest nothing;
  nothing.tallies = false;
  const auto numbers = office_.aggregate(nothing);
  const auto some = ledger->documents(kind, "", 1);
  if (!numbers || !some) return false;
  if (!some->empty()) return true;
  const std::lock_guard lock(mutex_);
  seen_ = std::max(seen_, numbers->last_change);
  return false;
}

void Dependencies::take_in(const RecordHead& head, std::set<Ticket>& dependents) {
  const bool waits = is_waiting(head.status, head.reason);
  const auto ticket = ticket_of(head.id);
  if (waits && !ticket) (void)look_up(head.id);
  if (!waits && ticket) {
    const auto version = version_of(head.id);
    if (version && *version == 0) forget(*ticket);
  }
  if (!is_closed(head.status)) return;
  const std::lock_guard lock(mutex_);
  const auto found = waiting_on_.find(name_in(head.source, head.message_id));
  if (found != waiting_on_.end()) dependents.insert(found->second.begin(), found->second.end());
}

void Dependencies::follow(bool judges) {
  if (!begin_following()) return;
  std::set<Ticket> dependents;
  for (int page = 0; page < most_pages; ++page) {
    std::uint64_t after = 0;
    {
      const std::lock_guard lock(mutex_);
      after = seen_;
    }
    const auto notes = office_.changes_since(after, read_at_once);
    if (!notes || notes->empty()) break;
    Query query;
    query.statuses.assign(all_statuses().begin(), all_statuses().end());
    query.limit = notes->size();
    for (const ChangeNote& note : *notes) query.ids.push_back(note.id);
    const auto heads = office_.list(query);
    if (!heads) break;
    for (const RecordHead& head : heads->rows) take_in(head, dependents);
    const std::lock_guard lock(mutex_);
    seen_ = notes->back().change;
  }
  if (judges) judge_all(std::move(dependents));
}

void Dependencies::judge_everybody() {
  std::set<Ticket> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ticket, held] : held_) {
      if (held.id) all.insert(ticket);
    }
  }
  if (!all.empty()) judge_all(std::move(all));
}

}  // namespace dlo
