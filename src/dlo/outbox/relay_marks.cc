// What a relay owes: marks in the table, records and notes in the office.
#include <algorithm>
#include <chrono>
#include <utility>

#include "dlo/outbox/relay.h"
#include "dlo/store/death_audit.h"
#include "dlo/store/postgres/escorts.h"

namespace dlo {

using outbox::FailedRow;
using outbox::Judgement;

namespace {

constexpr Millis refused_rest{60'000};
constexpr std::string_view lock_not_available = "55P03";

/// The office itself is in trouble, not the record it was given.
bool is_of_office(const Error& error) noexcept {
  return error.code == Code::unavailable || error.code == Code::timed_out ||
         error.code == Code::full || error.code == Code::disk_full || error.code == Code::corrupt;
}

}  // namespace

void Relay::office_trouble(const Error& error) {
  office_trouble_ = error.detail;
}

bool Relay::apply(std::vector<Change> changes) {
  if (changes.empty()) return true;
  const auto applied = office_.apply(changes);
  if (!applied) office_trouble(applied.error());
  return applied.has_value();
}

/// Whoever takes over buckets takes over what is known of their rows.
void Relay::load_notes() {
  if (table_.counts() || table_.share() <= notes_share_) {
    notes_share_ = std::min(notes_share_, table_.share());
    return;
  }
  auto notes = notes_.all();
  if (!notes) return office_trouble(notes.error());
  std::vector<std::string> ids;
  for (const auto& each : *notes) ids.push_back(each.id);
  const auto left = table_.left_of(ids);
  const std::set<std::string> still(left.begin(), left.end());
  for (const auto& each : *notes) {
    if (!still.contains(each.id)) {
      done_notes_.push_back(each.id);
      continue;
    }
    noted_.insert(each.id);
    if (resting_.find(each.id) == nullptr) resting_.rest(each.id, each.key, each.failures);
  }
  notes_share_ = table_.share();
}

void Relay::flush() {
  mark_done();
  mark_failed();
  write_deaths();
  mark_dead();
  remove_notes();
}

void Relay::mark_done() {
  if (!stuck_.empty()) stuck_ = table_.mark_done(stuck_, true);
  if (done_.empty()) return;
  const auto left = table_.mark_done(done_);
  stuck_.insert(stuck_.end(), left.begin(), left.end());
  done_.clear();
}

void Relay::mark_failed() {
  if (unwritten_.empty()) return;
  if (table_.counts()) return mark_failed_in_rows();
  std::vector<Change> changes;
  for (const FailedRow& each : unwritten_) {
    changes.push_back(notes_.written(each.id, each.key, each.failures));
  }
  if (!apply(std::move(changes))) return;
  for (const FailedRow& each : unwritten_) noted_.insert(each.id);
  unwritten_.clear();
}

void Relay::mark_failed_in_rows() {
  const auto write = [this](std::span<const FailedRow> rows) {
    try {
      (void)table_.mark_failed(rows);
      return true;
    } catch (const postgres::Failed& failed) {
      if (failed.state != lock_not_available) throw;
      return false;
    }
  };
  if (!write(unwritten_)) {
    // What is locked is remembered here only, for as long as this relay lives.
    for (const FailedRow& each : unwritten_) (void)write({&each, 1});
  }
  unwritten_.clear();
}

/// The row says that an attempt failed before the office says that it was the last: whoever finds
/// it like that looks there first (R2).
void Relay::count_deaths() {
  if (!table_.counts()) return;
  std::vector<FailedRow> rows;
  for (Death& each : deaths_) {
    if (each.counted || each.judgement.record == nullptr) continue;
    if (each.judgement.failures.attempts != each.row.failures.attempts) {
      rows.push_back({each.row.id, each.row.key, each.judgement.failures});
    }
  }
  if (!rows.empty()) (void)table_.mark_failed(rows);
  for (Death& each : deaths_) each.counted = true;
}

void Relay::write_deaths() {
  if (deaths_.empty()) return;
  bool together = together_ != nullptr;
  if (!together) count_deaths();
  auto kept = write(deaths_, together);
  if (!kept && together) {
    together = false;  // perhaps the office could not mark the row: one after the other
    count_deaths();
    kept = write(deaths_, together);
  }
  if (kept) {
    written(deaths_, together);
    deaths_.clear();
    return;
  }
  if (!is_of_office(kept.error())) kept = write_singly();
  if (!kept) office_trouble(kept.error());
}

/// One that the office will not have does not keep the others out.
Result<void> Relay::write_singly() {
  while (!deaths_.empty()) {
    Death& each = deaths_.back();
    const auto kept = write({&each, 1}, false);
    if (!kept && is_of_office(kept.error())) return kept;
    if (kept) {
      written({&each, 1}, false);
    } else {
      office_trouble(kept.error());
      outbox::Failures later = each.judgement.failures;
      later.due = clock_.now() + refused_rest;
      resting_.rest(each.row.id, each.row.key, std::move(later));
    }
    deaths_.pop_back();
  }
  return {};
}

/// In one transaction: the rows are marked when their records are kept.
Result<std::vector<Applied>> Relay::apply_with_rows(const std::vector<Change>& changes,
                                                    const std::vector<std::string>& ids,
                                                    const std::vector<Id128>& records) {
  const RecordId first{records.front()};
  const auto mark = [sql = table_.dead_statement(), ids, records](postgres::Connection& office) {
    (void)office.ask(sql, postgres::Params(ids, records));
  };
  together_->send_with(first, mark);
  auto applied = office_.apply(changes);
  together_->dismiss(first);
  return applied;
}

/// All of them with one list, or none.
Result<void> Relay::write(std::span<Death> deaths, bool together) {
  std::vector<Change> changes;
  std::vector<std::string> ids;
  std::vector<Id128> records;
  std::vector<std::pair<DeadLetter*, std::size_t>> places;
  for (Death& each : deaths) {
    Judgement& judgement = each.judgement;
    changes.insert(changes.end(), judgement.changes.begin(), judgement.changes.end());
    if (judgement.record == nullptr) continue;
    judgement.record->source_unsettled = !together;
    places.emplace_back(judgement.record.get(), changes.size());
    changes.emplace_back(Append{judgement.record, judgement.attempts});
    if (!together && !table_.counts()) {
      changes.push_back(notes_.written(each.row.id, each.row.key, judgement.failures));
    }
    ids.push_back(each.row.id);
    records.emplace_back(judgement.record->id);
  }
  add_death_audit(changes, "outbox " + options_.name, clock_.now());
  marks_.put(marks_.size(), changes);
  const auto applied = together && !records.empty() ? apply_with_rows(changes, ids, records)
                                                    : office_.apply(changes);
  if (!applied) {
    marks_.not_written();
    return applied.error();
  }
  marks_.done();
  for (const auto& [record, place] : places) record->occurrence = (*applied)[place].occurrence;
  return {};
}

void Relay::written(std::span<Death> deaths, bool together) {
  std::uint64_t dead = 0;
  for (const Death& each : deaths) {
    resting_.forget(each.row.id);
    if (each.judgement.record == nullptr) {
      done_.push_back(each.row.id);
      continue;
    }
    ++dead;
    const DeadLetter& record = *each.judgement.record;
    marked_.push_back({each.row.id, {record.id, record.occurrence}, !together});
    if (!table_.counts() && !together) noted_.insert(each.row.id);
  }
  const std::lock_guard lock(mutex_);
  status_.dead += dead;
}

void Relay::mark_dead() {
  if (marked_.empty()) return;
  std::vector<std::string> ids;
  std::vector<Id128> records;
  for (const Marked& each : marked_) {
    ids.push_back(each.id);
    records.emplace_back(each.record.id);
  }
  const auto left = table_.mark_dead(ids, records);
  const std::set<std::string> still(left.begin(), left.end());
  std::vector<Marked> stay;
  for (Marked& each : marked_) {
    if (still.contains(each.id)) {
      stay.push_back(std::move(each));
      continue;
    }
    resting_.forget(each.id);
    if (each.unsettled) marks_.settled(each.record);
    if (noted_.erase(each.id) > 0) done_notes_.push_back(each.id);
  }
  marked_ = std::move(stay);
}

/// Notes and marks that nobody needs any more: a few words beside what is written anyway.
void Relay::remove_notes() {
  if (done_notes_.empty() && marks_.size() == 0) return;
  std::vector<Change> changes;
  for (const std::string& id : done_notes_) changes.push_back(notes_.removed(id));
  marks_.put(marks_.size(), changes);
  const auto applied = office_.apply(changes);
  if (!applied) {
    marks_.not_written();
    return office_trouble(applied.error());
  }
  marks_.done();
  done_notes_.clear();
}

}  // namespace dlo
