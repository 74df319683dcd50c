#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dlo/core/identity.h"
#include "dlo/core/result.h"
#include "dlo/store/change.h"
#include "dlo/store/query.h"
#include "dlo/store/sql/codec.h"
#include "dlo/store/sql/edit.h"
#include "dlo/store/sql/failed.h"

// How changes are carried out on rows, whatever keeps them: `Session` reads and writes single rows
// of one backend in the transaction under way.

namespace dlo::sql {
namespace applying {

inline constexpr const char* where = "office.apply";

[[nodiscard]] inline Error no_record() {
  return {Code::not_found, where, "there is no such record: it was removed, or never was here"};
}

[[nodiscard]] inline Applied answer(const DeadLetter& record) {
  return {Effect::applied, record.version, record.number, 0, std::nullopt};
}

[[nodiscard]] inline bool changes_facts(const Transition& t) {
  return t.failure || t.description || t.rule || t.policy || t.fingerprint || t.resolution ||
         t.tags;
}

/// Status moves look at the head alone; everything else needs what the head does not hold.
[[nodiscard]] inline bool needs_facts(const Transition& t, Status from) {
  const bool comes_back = is_closed(from) && is_open(t.to);
  const bool dies = is_live(from) && !is_live(t.to);
  return changes_facts(t) || comes_back || dies || t.died_at;
}

}  // namespace applying

/// The token of a lease that the change of this number gives: the later one of a record is larger,
/// whatever was restarted or removed in between, and the second half leads back to the record.
[[nodiscard]] inline LeaseToken token_of(std::uint64_t change, std::int64_t number) noexcept {
  return LeaseToken{{change, static_cast<std::uint64_t>(number)}};
}

/// A list of changes and what the asking thread made ready for it.
template <typename Session>
struct PreparedList {
  std::span<const Change> changes;
  std::vector<std::optional<typename Session::Prepared>> appends;  // one per change
  std::size_t bytes = 0;                                           // about how much it will write
};

template <typename Session>
class Applier {
 public:
  using Prepared = typename Session::Prepared;
  Applier(Session& session, const std::optional<Prepared>& prepared)
      : session_(session), prepared_(prepared) {}

  Result<Applied> operator()(const Append& change);
  Result<Applied> operator()(const Transition& change);
  Result<Applied> operator()(const SourceSettled& change);
  Result<Applied> operator()(const AddAttempt& change);
  Result<Applied> operator()(const AddVersion& change);
  Result<Applied> operator()(const EditGroup& change);
  Result<Applied> operator()(const MergeGroups& change);
  Result<Applied> operator()(const SplitGroup& change);
  Result<Applied> operator()(const PutDocument& change);
  Result<Applied> operator()(const ExpectDocument& change);
  Result<Applied> operator()(const JobCheckpoint& change);
  Result<Applied> operator()(const AddAudit& change);
  Result<Applied> operator()(const Remove& change);

 private:
  Applied reopen(Head& existing, const Append& change);
  Applied put(const Regrouping& groups);
  void add_versions(std::int64_t number, std::size_t known, const std::vector<Version>& versions);
  [[nodiscard]] std::uint64_t next_change() { return session_.books().next_change(); }

  Session& session_;
  const std::optional<Prepared>& prepared_;
};

template <typename Session>
Result<Applied> Applier<Session>::operator()(const Append& change) {
  if (const auto number = session_.insert(*prepared_)) {
    return Applied{Effect::applied, 1, *number, change.record->occurrence, std::nullopt};
  }
  std::optional<Head> existing = session_.find(change.record->id);
  if (!existing) {
    throw Failed{Error{Code::corrupt, applying::where,
                       "the index of ids names a record that is not there; nothing was changed; "
                       "restore a backup"}};
  }
  if (effect_of(&existing->record, *change.record) == AppendEffect::new_occurrence) {
    return reopen(*existing, change);
  }
  const DeadLetter& known = existing->record;
  return Applied{Effect::merged, known.version, known.number, known.occurrence, std::nullopt};
}

template <typename Session>
Applied Applier<Session>::reopen(Head& existing, const Append& change) {
  session_.load_facts(existing);
  session_.load_message(existing);
  const std::int64_t number = existing.record.number;
  const DeadLetter after = reopened(existing.record, *change.record, next_change());
  std::vector<Version> versions = session_.versions(number);
  const std::size_t known = versions.size();
  versions = versions_after_reopening(std::move(versions), existing.record, after);
  add_versions(number, known, versions);
  std::uint32_t tries = existing.tries;
  for (const std::string& attempt : prepared_->attempts) {
    session_.add_attempt(number, tries++, attempt);
  }
  session_.update({existing, after, std::nullopt, tries, true, true});
  Applied applied = applying::answer(after);
  applied.effect = Effect::reopened;
  applied.occurrence = after.occurrence;
  return applied;
}

template <typename Session>
void Applier<Session>::add_versions(std::int64_t number, std::size_t known,
                                    const std::vector<Version>& versions) {
  for (std::size_t i = known; i < versions.size(); ++i) session_.add_version(number, versions[i]);
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const Transition& change) {
  std::optional<Head> before = session_.find(change.id);
  if (!before) return applying::no_record();
  const bool with_facts = applying::needs_facts(change, before->record.status);
  if (with_facts) session_.load_facts(*before);
  const std::uint64_t moved = next_change();
  auto standing = apply_transition(before->record, before->lease, change,
                                   token_of(moved, before->record.number), moved);
  if (!standing) return standing.error();
  const bool facts =
      applying::changes_facts(change) || before->record.resolution != standing->record.resolution;
  session_.update({*before, standing->record, standing->lease, before->tries, facts, false});
  Applied applied = applying::answer(standing->record);
  if (change.lease_for) applied.lease = standing->lease->token;
  return applied;
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const SourceSettled& change) {
  session_.settle_source(change.id, change.occurrence);
  return Applied{};
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const AddAttempt& change) {
  std::optional<Head> before = session_.find(change.id);
  if (!before) return applying::no_record();
  session_.add_attempt(before->record.number, before->tries, encode_attempt(change.attempt));
  DeadLetter after = before->record;
  touch(after, next_change());
  session_.update({*before, after, before->lease, before->tries + 1, false, false});
  return applying::answer(after);
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const AddVersion& change) {
  std::optional<Head> before = session_.find(change.id);
  if (!before) return applying::no_record();
  if (auto fine = check_version(before->record, change.expected_version); !fine) {
    return fine.error();
  }
  const std::int64_t number = before->record.number;
  std::vector<Version> versions = session_.versions(number);
  const std::size_t known = versions.size();
  if (known == 0) session_.load_message(*before);
  versions = versions_after_edit(std::move(versions), before->record, change);
  add_versions(number, known, versions);
  DeadLetter after = before->record;
  touch(after, next_change());
  session_.update({*before, after, before->lease, before->tries, false, false});
  return applying::answer(after);
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const EditGroup& change) {
  GroupSummary* group = session_.books().group(change.fingerprint);
  if (group == nullptr) {
    return Error{Code::not_found, applying::where,
                 "nothing ever died of this, so there is no such group"};
  }
  if (auto fine = edit_group(*group, change); !fine) return fine.error();
  session_.mark_written();
  Applied applied;
  applied.version = group->version;
  return applied;
}

template <typename Session>
Applied Applier<Session>::put(const Regrouping& groups) {
  auto& books = session_.books();
  for (const Strand& strand : groups.strands) books.put_strand(strand);
  if (groups.strands.empty()) books.remove_strand(groups.whole.fingerprint);
  if (groups.out) {
    books.remove_strand(groups.out->fingerprint);
    books.put_group(*groups.out);
  }
  books.put_group(groups.whole);
  session_.mark_written();
  Applied applied;
  applied.version = groups.whole.version;
  return applied;
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const MergeGroups& change) {
  auto& books = session_.books();
  auto merged =
      merge_groups(change, books.group(change.from), books.strands_of(change.from),
                   books.group(change.into), books.strands_of(change.into), next_change());
  if (!merged) return merged.error();
  books.remove_group(change.from);
  return put(*merged);
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const SplitGroup& change) {
  auto& books = session_.books();
  const Strand* strand = books.strand(change.fingerprint);
  const Id128 group = strand == nullptr ? change.fingerprint : strand->into;
  auto split = split_group(change, books.group(group), books.strands_of(group));
  if (!split) return split.error();
  return put(*split);
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const PutDocument& change) {
  const auto version = session_.document_version(change.kind, change.key);
  if (auto fine = check_document(version, change.expected_version); !fine) return fine.error();
  Applied applied;
  applied.version = session_.put_document(change.kind, change.key, change.body);
  return applied;
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const ExpectDocument& change) {
  const auto version = session_.document_version(change.kind, change.key);
  if (auto fine = check_document(version, change.version); !fine) return fine.error();
  Applied applied;
  applied.version = change.version;
  return applied;
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const JobCheckpoint& change) {
  const std::string items = job_item_kind(change.job);
  for (const auto& [id, outcome] : change.outcomes) {
    session_.put_document(items, to_string(id), outcome);
  }
  Applied applied;
  applied.version = session_.put_document(std::string(job_cursor_kind), change.job, change.cursor);
  return applied;
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const AddAudit& change) {
  Applied applied;
  applied.number = static_cast<std::int64_t>(session_.add_audit(change));
  return applied;
}

template <typename Session>
Result<Applied> Applier<Session>::operator()(const Remove& change) {
  std::optional<Head> before = session_.find(change.id);
  if (!before) return applying::no_record();
  if (auto fine = check_removable(before->record); !fine) return fine.error();
  session_.remove(*before);
  Applied applied;
  applied.number = before->record.number;
  return applied;
}

/// invalid_argument: a change that no state of the office could accept.
template <typename Session>
[[nodiscard]] Result<PreparedList<Session>> prepare_list(std::span<const Change> changes) {
  PreparedList<Session> list{changes, {}, 0};
  list.appends.resize(changes.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (auto fine = check(changes[i]); !fine) {
      return at_place(fine.error(), i, changes.size(), changes[i]);
    }
    list.bytes += 512;
    if (const auto* append = std::get_if<Append>(&changes[i])) {
      list.appends[i] = Session::prepare(*append);
      const auto& payload = append->record->message->payload;
      list.bytes += list.appends[i]->facts.size() + (payload ? payload->size() : 0);
    }
    if (const auto* edit = std::get_if<AddVersion>(&changes[i]); edit != nullptr && edit->payload) {
      list.bytes += edit->payload->size();
    }
  }
  return list;
}

/// Carries out a list in the transaction under way. An error is about the list, not the office;
/// what earlier changes of it wrote is still there, for the caller to undo. Throws `Failed`.
template <typename Session>
[[nodiscard]] Result<std::vector<Applied>> carry_out(Session& session,
                                                     const PreparedList<Session>& list) {
  std::vector<Applied> answers;
  answers.reserve(list.changes.size());
  for (std::size_t i = 0; i < list.changes.size(); ++i) {
    auto applied = std::visit(Applier<Session>(session, list.appends[i]), list.changes[i]);
    if (!applied) return at_place(applied.error(), i, list.changes.size(), list.changes[i]);
    answers.push_back(std::move(*applied));
  }
  return answers;
}

template <typename Session>
void take_back_ended(Session& session, TimePoint now) {
  constexpr std::size_t at_once = 1000;
  for (std::vector<Head> ended; !(ended = session.ended_leases(now, at_once)).empty();) {
    for (const Head& head : ended) {
      if (!is_changed_by_taking_back(head.record.status)) {
        session.update_lease(head, std::nullopt);
        continue;
      }
      const DeadLetter after = taken_back(head.record, session.books().next_change());
      session.update({head, after, std::nullopt, head.tries, false, false});
    }
  }
}

/// A lease that was handed out. The record's message and facts are still to be read.
struct Leased {
  Head head;  // as after the claim
  Status was = Status::waiting;
};

template <typename Session>
[[nodiscard]] std::vector<Leased> lease_due(Session& session, std::size_t limit, TimePoint now,
                                            Millis lease_for, const ClaimFrom& from) {
  take_back_ended(session, now);
  std::vector<Leased> leased;
  if (limit == 0) return leased;
  for (Head& head : session.due(now, from, limit)) {
    const std::uint64_t change = session.books().next_change();
    const Lease lease{token_of(change, head.record.number), lease_end(now, lease_for)};
    Standing standing = claimed(head.record, lease, change);
    session.update({head, standing.record, standing.lease, head.tries, false, false});
    const Status was = head.record.status;
    head.record = std::move(standing.record);
    head.lease = lease;
    leased.push_back({std::move(head), was});
  }
  return leased;
}

template <typename Session>
[[nodiscard]] std::vector<bool> renew_leases(Session& session, std::span<const LeaseToken> leases,
                                             TimePoint now, Millis lease_for) {
  std::vector<bool> answers;
  answers.reserve(leases.size());
  for (const LeaseToken& token : leases) {
    const std::optional<Head> head = session.find(static_cast<std::int64_t>(token.low));
    const bool live = head && is_live(head->lease, now) && head->lease->token == token;
    if (live) session.update_lease(*head, renewed(*head->lease, now, lease_for));
    answers.push_back(live);
  }
  return answers;
}

}  // namespace dlo::sql
