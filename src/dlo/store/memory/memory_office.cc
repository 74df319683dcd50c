#include "dlo/store/memory/memory_office.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <random>
#include <shared_mutex>

#include "dlo/store/field_tests.h"
#include "dlo/store/memory/applier.h"

namespace dlo {
namespace {

using memory::Applier;
using memory::EntryPtr;
using memory::Tables;

/// Rows looked at before the lock is given up and the time box is asked.
constexpr std::size_t rows_per_look = 512;
constexpr std::size_t bodies_per_look = 4;  // where payloads are read, which may be large

std::uint64_t draw_epoch() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

template <typename Iterator>
bool take(std::size_t most, std::vector<EntryPtr>& rows, Iterator from, Iterator end) {
  for (; from != end && rows.size() < most; ++from) rows.push_back(from->second);
  return from != end;
}

std::size_t rows_per_look_of(const Query& query) {
  const bool reads_payloads =
      std::any_of(query.tests.begin(), query.tests.end(),
                  [](const FieldTest& test) { return part_of(test.field) == Part::payload; });
  return reads_payloads ? bodies_per_look : rows_per_look;
}

}  // namespace

struct MemoryOffice::State final : Ledger, PoisonBook {
  explicit State(std::uint64_t lease_epoch) : tables(lease_epoch) {}

  std::shared_mutex mutex;
  Tables tables;

  /// The next rows in `query`'s order after `after`; says whether there are more behind them.
  bool look(const Query& query, const std::optional<Cursor>& after, std::vector<EntryPtr>& rows) {
    const std::shared_lock lock(mutex);
    const auto& places = tables.by_place();
    rows.clear();
    const std::size_t most = rows_per_look_of(query);
    if (query.order == Order::oldest_first) {
      const auto from = after ? places.upper_bound(*after) : places.begin();
      return take(most, rows, from, places.end());
    }
    const auto end = after ? places.lower_bound(*after) : places.end();
    return take(most, rows, std::make_reverse_iterator(end), places.rend());
  }

  /// The query with the fingerprints of groups that were merged.
  Query expanded(const Query& query) {
    const std::shared_lock lock(mutex);
    return with_strands(query, [this](const Id128& id) {
      const Strand* strand = tables.strand(id);
      return strand == nullptr ? std::vector<Strand>{} : tables.strands_of(strand->into);
    });
  }

  void take_back_ended(TimePoint now) {
    while (const EntryPtr ended = tables.next_ended(now)) {
      if (!is_changed_by_taking_back(ended->record.status)) {
        tables.replace_lease(ended, std::nullopt);
        continue;
      }
      auto free = std::make_shared<memory::Entry>(*ended);
      free->record = taken_back(ended->record, tables.next_change());
      free->lease.reset();
      tables.replace(ended, free);
    }
  }

  Claim lease_out(const EntryPtr& due, TimePoint until) {
    const Lease lease{tables.next_token(), until};
    Standing standing = claimed(due->record, lease, tables.next_change());
    Claim claim{lease.token, until, standing.record, due->record.status};
    claim.record.status = claim.was;
    auto held = std::make_shared<memory::Entry>(*due);
    held->record = std::move(standing.record);
    held->lease = standing.lease;
    tables.replace(due, held);
    return claim;
  }

  Result<std::optional<Document>> document(const std::string& kind,
                                           const std::string& key) override {
    const std::shared_lock lock(mutex);
    const Document* found = tables.document({kind, key});
    return found == nullptr ? std::optional<Document>{} : *found;
  }

  Result<std::vector<Document>> documents(const std::string& kind, const std::string& after,
                                          std::size_t limit) override {
    const std::shared_lock lock(mutex);
    std::vector<Document> answer;
    const auto& all = tables.documents();
    for (auto at = all.upper_bound({kind, after});
         at != all.end() && at->first.first == kind && answer.size() < limit; ++at) {
      answer.push_back(at->second);
    }
    return answer;
  }

  Result<std::vector<AuditEntry>> audit(std::uint64_t after, std::size_t limit) override {
    const std::shared_lock lock(mutex);
    const auto& all = tables.audit();
    const std::size_t from = std::min<std::size_t>(after, all.size());
    const std::size_t count = std::min(limit, all.size() - from);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
    return std::vector<AuditEntry>(first, first + static_cast<std::ptrdiff_t>(count));
  }

  Result<std::vector<PoisonItem>> list(const PoisonQuery& query) override {
    const std::shared_lock lock(mutex);
    std::vector<PoisonItem> items;
    const auto& all = tables.poisoned(query.kind);
    for (auto each = all.upper_bound(query.after); each != all.end(); ++each) {
      if (items.size() >= query.limit) break;
      const DeadLetter& record = each->second->record;
      if (query.instance && record.message->owner->instance != *query.instance) continue;
      items.push_back(poison_item_of(record));
    }
    return items;
  }

  Result<std::optional<PoisonDetail>> get(PoisonKind kind, std::int64_t poison_id) override {
    const std::shared_lock lock(mutex);
    const auto& items = tables.poisoned(kind);
    const auto found = items.find(poison_id);
    if (found == items.end()) return std::optional<PoisonDetail>{};
    const DeadLetter& record = found->second->record;
    return std::optional<PoisonDetail>(
        PoisonDetail{poison_item_of(record), record.message, record.message->enqueued_at});
  }

  Result<std::uint64_t> count(PoisonKind kind) override {
    const std::shared_lock lock(mutex);
    return std::uint64_t{tables.poisoned(kind).size()};
  }
};

MemoryOffice::MemoryOffice() : MemoryOffice(draw_epoch()) {}
MemoryOffice::MemoryOffice(std::uint64_t lease_epoch)
    : state_(std::make_unique<State>(lease_epoch)) {}
MemoryOffice::~MemoryOffice() = default;

OfficeExtras MemoryOffice::extras() noexcept {
  return {state_.get(), state_.get()};
}

Result<std::vector<Applied>> MemoryOffice::apply(std::span<const Change> changes) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (auto fine = check(changes[i]); !fine) {
      return at_place(fine.error(), i, changes.size(), changes[i]);
    }
  }
  const std::unique_lock lock(state_->mutex);
  state_->tables.begin();
  Applier applier(state_->tables);
  std::vector<Applied> answer;
  answer.reserve(changes.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto applied = std::visit(applier, changes[i]);
    if (!applied) {
      state_->tables.roll_back();
      return at_place(applied.error(), i, changes.size(), changes[i]);
    }
    answer.push_back(*applied);
  }
  state_->tables.commit();
  return answer;
}

Result<RecordDetail> MemoryOffice::get(const RecordId& id) {
  EntryPtr entry;
  {
    const std::shared_lock lock(state_->mutex);
    entry = state_->tables.find(id);
  }
  if (!entry) {
    return Error{Code::not_found, "memory.get", "there is no record " + to_string(id)};
  }
  RecordDetail detail{entry->record, {}, {}};
  if (entry->attempts) detail.attempts.assign(entry->attempts->rbegin(), entry->attempts->rend());
  if (entry->versions) detail.versions = *entry->versions;
  return detail;
}

Result<Page> MemoryOffice::list(const Query& query) {
  if (auto fine = check(query); !fine) return fine.error();
  if (query.after && query.after->walk != Walk::by_death) return foreign_cursor(*query.after);
  Page page;
  if (query.limit == 0) return page;
  const Filter filter(state_->expanded(query));
  const auto started = std::chrono::steady_clock::now();
  std::vector<EntryPtr> rows;
  page.next = query.after;
  for (bool more = true; more;) {
    more = state_->look(query, page.next, rows);
    for (const EntryPtr& entry : rows) {
      page.next = cursor_of(entry->record);
      if (!filter.matches(entry->record)) continue;
      page.rows.push_back(head_of(entry->record));
      if (page.rows.size() == query.limit) return page;
    }
    page.partial = more && std::chrono::steady_clock::now() - started >= query.time_box;
    if (page.partial) return page;
  }
  page.next.reset();
  return page;
}

Result<Aggregate> MemoryOffice::aggregate(const AggregateRequest& request) {
  const std::shared_lock lock(state_->mutex);
  const Tables& tables = state_->tables;
  Aggregate answer;
  answer.last_change = tables.last_change();
  if (request.tallies) {
    answer.lifetime = tables.lifetime();
    for (const auto& [key, count] : tables.tallies()) {
      answer.tallies.push_back({key.source, key.status, key.category, count});
    }
    for (const auto& [key, count] : tables.policies()) {
      answer.policies.push_back({key.status, key.kind, count});
    }
  }
  if (request.only_group) {
    const Strand* strand = tables.strand(*request.only_group);
    const Id128 id = strand == nullptr ? *request.only_group : strand->into;
    if (const GroupSummary* group = tables.group(id)) answer.groups.push_back(*group);
    for (Strand& each : tables.strands_of(id)) answer.strands.push_back(std::move(each.own));
  } else {
    answer.groups = tables.top_groups(request);
  }
  if (request.due) answer.next_due = tables.earliest(*request.due);
  return answer;
}

Result<std::vector<Claim>> MemoryOffice::claim(std::size_t limit, TimePoint now, Millis lease_for,
                                               const ClaimFrom& from) {
  if (auto fine = check_lease_for(lease_for); !fine) return fine.error();
  const std::unique_lock lock(state_->mutex);
  state_->tables.begin();
  state_->take_back_ended(now);
  std::vector<Claim> claims;
  while (claims.size() < limit) {
    const EntryPtr due = state_->tables.next_due(now, from);
    if (!due) break;
    claims.push_back(state_->lease_out(due, lease_end(now, lease_for)));
  }
  state_->tables.commit();
  return claims;
}

Result<std::vector<bool>> MemoryOffice::renew(std::span<const LeaseToken> leases, TimePoint now,
                                              Millis lease_for) {
  if (auto fine = check_lease_for(lease_for); !fine) return fine.error();
  const std::unique_lock lock(state_->mutex);
  std::vector<bool> answer;
  answer.reserve(leases.size());
  for (const LeaseToken& token : leases) {
    const EntryPtr held = state_->tables.find(token);
    const bool live = held && is_live(held->lease, now);
    if (live) state_->tables.replace_lease(held, renewed(*held->lease, now, lease_for));
    answer.push_back(live);
  }
  return answer;
}

Result<std::vector<ChangeNote>> MemoryOffice::changes_since(std::uint64_t after,
                                                            std::size_t limit) {
  const std::shared_lock lock(state_->mutex);
  std::vector<ChangeNote> notes;
  const auto& changes = state_->tables.by_change();
  for (auto at = changes.upper_bound(after); at != changes.end() && notes.size() < limit; ++at) {
    notes.push_back({at->first, at->second->record.id, at->second->record.status});
  }
  return notes;
}

}  // namespace dlo
