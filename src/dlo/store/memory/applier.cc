#include "dlo/store/memory/applier.h"

namespace dlo::memory {
namespace {

constexpr const char* where = "memory.apply";

Error no_record() {
  return {Code::not_found, where, "there is no such record: it was removed, or never was here"};
}

using AttemptsPtr = std::shared_ptr<const std::vector<Attempt>>;
using VersionsPtr = std::shared_ptr<const std::vector<Version>>;

AttemptsPtr longer(const AttemptsPtr& attempts, const std::vector<Attempt>& more) {
  if (more.empty()) return attempts;
  auto kept = attempts ? *attempts : std::vector<Attempt>{};
  for (const Attempt& attempt : more) keep_attempt(kept, attempt);
  return std::make_shared<const std::vector<Attempt>>(std::move(kept));
}

std::vector<Version> copy_of(const VersionsPtr& versions) {
  return versions ? *versions : std::vector<Version>{};
}

VersionsPtr shared(std::vector<Version> versions) {
  if (versions.empty()) return nullptr;
  return std::make_shared<const std::vector<Version>>(std::move(versions));
}

}  // namespace

Applied Applier::put(const EntryPtr& before, std::shared_ptr<Entry> after) {
  Applied applied;
  applied.version = after->record.version;
  applied.number = after->record.number;
  tables_.replace(before, std::move(after));
  return applied;
}

Applied Applier::insert(const Append& change) {
  auto entry = std::make_shared<Entry>();
  entry->record = inserted(*change.record, tables_.next_number(), tables_.next_change());
  entry->attempts = longer(nullptr, change.attempts);
  Applied applied = put(nullptr, std::move(entry));
  applied.occurrence = change.record->occurrence;
  return applied;
}

Applied Applier::reopen(const EntryPtr& existing, const Append& change) {
  auto entry = std::make_shared<Entry>();
  entry->record = reopened(existing->record, *change.record, tables_.next_change());
  entry->attempts = longer(existing->attempts, change.attempts);
  entry->versions = shared(
      versions_after_reopening(copy_of(existing->versions), existing->record, entry->record));
  const std::uint32_t occurrence = entry->record.occurrence;
  Applied applied = put(existing, std::move(entry));
  applied.effect = Effect::reopened;
  applied.occurrence = occurrence;
  return applied;
}

Result<Applied> Applier::operator()(const Append& change) {
  const EntryPtr existing = tables_.find(change.record->id);
  switch (effect_of(existing ? &existing->record : nullptr, *change.record)) {
    case AppendEffect::insert:
      return insert(change);
    case AppendEffect::new_occurrence:
      return reopen(existing, change);
    case AppendEffect::merge:
      break;
  }
  const DeadLetter& known = existing->record;
  return Applied{Effect::merged, known.version, known.number, known.occurrence, std::nullopt};
}

Result<Applied> Applier::operator()(const Transition& change) {
  const EntryPtr before = tables_.find(change.id);
  if (!before) return no_record();
  const LeaseToken fresh = change.lease_for && !change.lease ? tables_.next_token() : LeaseToken{};
  auto standing =
      apply_transition(before->record, before->lease, change, fresh, tables_.next_change());
  if (!standing) return standing.error();
  auto after = std::make_shared<Entry>(*before);
  after->record = std::move(standing->record);
  after->lease = standing->lease;
  Applied applied = put(before, std::move(after));
  if (change.lease_for) applied.lease = standing->lease->token;
  return applied;
}

Result<Applied> Applier::operator()(const SourceSettled& change) {
  const EntryPtr before = tables_.find(change.id);
  if (!before || !before->record.source_unsettled ||
      before->record.occurrence != change.occurrence) {
    return Applied{};
  }
  auto after = std::make_shared<Entry>(*before);
  after->record.source_unsettled = false;
  tables_.replace(before, std::move(after));
  return Applied{};
}

Result<Applied> Applier::operator()(const AddAttempt& change) {
  const EntryPtr before = tables_.find(change.id);
  if (!before) return no_record();
  auto after = std::make_shared<Entry>(*before);
  after->attempts = longer(before->attempts, {change.attempt});
  touch(after->record, tables_.next_change());
  return put(before, std::move(after));
}

Result<Applied> Applier::operator()(const AddVersion& change) {
  const EntryPtr before = tables_.find(change.id);
  if (!before) return no_record();
  if (auto fine = check_version(before->record, change.expected_version); !fine) {
    return fine.error();
  }
  auto after = std::make_shared<Entry>(*before);
  after->versions = shared(versions_after_edit(copy_of(before->versions), before->record, change));
  touch(after->record, tables_.next_change());
  return put(before, std::move(after));
}

Result<Applied> Applier::operator()(const EditGroup& change) {
  const GroupSummary* group = tables_.group(change.fingerprint);
  if (group == nullptr) {
    return Error{Code::not_found, where, "nothing ever died of this, so there is no such group"};
  }
  GroupSummary next = *group;
  if (auto fine = edit_group(next, change); !fine) return fine.error();
  tables_.put_group(next);
  Applied applied;
  applied.version = next.version;
  return applied;
}

Applied Applier::put(const Regrouping& groups) {
  for (const Strand& strand : groups.strands) tables_.put_strand(strand.own.fingerprint, strand);
  if (groups.strands.empty()) tables_.put_strand(groups.whole.fingerprint, std::nullopt);
  if (groups.out) {
    tables_.put_strand(groups.out->fingerprint, std::nullopt);
    tables_.put_group(*groups.out);
  }
  tables_.put_group(groups.whole);
  Applied applied;
  applied.version = groups.whole.version;
  return applied;
}

Result<Applied> Applier::operator()(const MergeGroups& change) {
  auto merged = merge_groups(change, tables_.group(change.from), tables_.strands_of(change.from),
                             tables_.group(change.into), tables_.strands_of(change.into),
                             tables_.next_change());
  if (!merged) return merged.error();
  tables_.remove_group(change.from);
  return put(*merged);
}

Result<Applied> Applier::operator()(const SplitGroup& change) {
  const Strand* strand = tables_.strand(change.fingerprint);
  const Id128 group = strand == nullptr ? change.fingerprint : strand->into;
  auto split = split_group(change, tables_.group(group), tables_.strands_of(group));
  if (!split) return split.error();
  return put(*split);
}

Result<Applied> Applier::operator()(const PutDocument& change) {
  const DocumentKey key{change.kind, change.key};
  const Document* known = tables_.document(key);
  std::optional<std::uint64_t> version;
  if (known != nullptr) version = known->version;
  if (auto fine = check_document(version, change.expected_version); !fine) return fine.error();
  Applied applied;
  applied.version = tables_.put_document(key, change.body);
  return applied;
}

Result<Applied> Applier::operator()(const ExpectDocument& change) {
  const Document* known = tables_.document({change.kind, change.key});
  std::optional<std::uint64_t> version;
  if (known != nullptr) version = known->version;
  if (auto fine = check_document(version, change.version); !fine) return fine.error();
  Applied applied;
  applied.version = change.version;
  return applied;
}

Result<Applied> Applier::operator()(const JobCheckpoint& change) {
  const std::string items = job_item_kind(change.job);
  for (const auto& [id, outcome] : change.outcomes) {
    tables_.put_document({items, to_string(id)}, outcome);
  }
  Applied applied;
  applied.version = tables_.put_document({std::string(job_cursor_kind), change.job}, change.cursor);
  return applied;
}

Result<Applied> Applier::operator()(const AddAudit& change) {
  Applied applied;
  applied.number = static_cast<std::int64_t>(tables_.add_audit(change));
  return applied;
}

Result<Applied> Applier::operator()(const Remove& change) {
  const EntryPtr before = tables_.find(change.id);
  if (!before) return no_record();
  if (auto fine = check_removable(before->record); !fine) return fine.error();
  tables_.replace(before, nullptr);
  Applied applied;
  applied.number = before->record.number;
  return applied;
}

}  // namespace dlo::memory
