// What became of those that were sent.
#include <algorithm>
#include <charconv>
#include <utility>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/key_order.h"
#include "dlo/jobs/replay_work.h"
#include "dlo/jobs/returns.h"

namespace dlo {
namespace {

constexpr Millis look_every{1'000};  // while a wave is watched
constexpr std::size_t watch_page = 500;
constexpr std::size_t pages_at_once = 10;  // then other jobs have their turn
constexpr std::uint64_t few = 10'000;
constexpr std::string_view sent_mark = "sent ";  // and the occurrence that was sent, and its group

}  // namespace

std::string text_of(const Taken& sent) {
  return std::string(sent_mark) + std::to_string(sent.occurrence) + " " + to_string(sent.group);
}

/// What an item says was sent; nothing if it is settled.
std::optional<Taken> parse_sent(const Document& item) {
  const std::string& outcome = item.body;
  const auto id = parse_id(item.key);
  if (!id || !outcome.starts_with(sent_mark)) return std::nullopt;
  Taken sent;
  sent.id = RecordId{*id};
  const char* const end = outcome.data() + outcome.size();
  const auto number = std::from_chars(outcome.data() + sent_mark.size(), end, sent.occurrence);
  if (number.ec != std::errc()) return std::nullopt;
  if (number.ptr != end) sent.group = parse_id({number.ptr + 1, end}).value_or(Id128{});
  return sent;
}

Result<Stepped> ReplayWork::watch() {
  const JobCounts& counts = progress_.counts;
  if (counts.awaited() == 0) return Stepped{progress_, progress_.listed};
  const TimePoint due = progress_.last_sent.value_or(now_) + spec_.watch;
  const bool time_is_up = now_ >= due;
  // A wave is waited for, and a few are quickly looked at; many only once, when time is up.
  const bool worth_a_look =
      few_at_a_time() || (spec_.canary > 0 && !progress_.listed) || counts.ok <= few;
  if (!worth_a_look && !time_is_up) return Stepped{progress_, false, {}, due};
  const bool many = counts.ok > few && !progress_.presumed;
  const auto all_seen = few_at_a_time() ? settle(progress_.awaiting, time_is_up, false)
                        : !time_is_up   ? look_at_changes()
                        : many          ? presume_all()
                                        : settle_all();
  if (!all_seen) return all_seen.error();
  if (progress_.counts.awaited() == 0) return Stepped{progress_, progress_.listed};
  if (!*all_seen) return Stepped{progress_};  // others have their turn, then it goes on
  return Stepped{progress_, false, {}, std::min(now_ + look_every, std::max(due, now_))};
}

/// Whatever comes back, is cured or is dealt with by a person has changed since: that costs what
/// happens in the office, not what was sent. What is not seen here is seen when time is up.
Result<bool> ReplayWork::look_at_changes() {
  for (std::size_t i = 0; i < pages_at_once; ++i) {
    const auto from = std::max(progress_.seen_change, job_.frozen_at);
    const auto notes = office_.changes_since(from, watch_page);
    if (!notes) return notes.error();
    if (notes->empty()) return true;
    std::vector<Taken> sent;
    for (const ChangeNote& note : *notes) {
      if (note.status == Status::replayed || note.status == Status::replaying) continue;
      const auto item =
          office_.extras().ledger->document(job_item_kind(job_.id), to_string(note.id));
      if (!item) return item.error();
      if (!*item) continue;
      if (const auto each = parse_sent(**item)) sent.push_back(*each);
    }
    progress_.seen_change = notes->back().change;
    const bool last = notes->size() < watch_page;
    const auto settled = settle(sent, false, last ? i > 0 : i + 1 == pages_at_once);
    if (!settled || !*settled || last) return settled;
  }
  return false;
}

/// In order of deaths, which is that of the file, and by heads alone: many are quickly done so.
/// What else became of them is seen afterwards, item by item.
Result<bool> ReplayWork::presume_all() {
  Query query;
  query.statuses = {Status::replayed};
  query.order = Order::oldest_first;
  query.limit = watch_page;
  for (std::size_t i = 0; i < pages_at_once; ++i) {
    query.after = progress_.presumed_up_to;
    const auto page = office_.list(query);
    if (!page) return page.error();
    Tried tried{progress_};
    for (const RecordHead& head : page->rows) {
      if (auto done = presume(head, tried); !done) return done.error();
    }
    tried.next.presumed_up_to = page->next;
    tried.next.presumed = !page->next;
    const auto written = write(std::move(tried));
    // Somebody changed one meanwhile: it is not among them when they are listed again.
    if (!written && is_overtaken(written.error())) continue;
    if (!written) return written.error();
    if (progress_.presumed) break;
  }
  return false;  // what came back is still to be seen
}

Result<void> ReplayWork::presume(const RecordHead& head, Tried& tried) const {
  const auto item = office_.extras().ledger->document(job_item_kind(job_.id), to_string(head.id));
  if (!item) return item.error();
  const auto sent = *item ? parse_sent(**item) : std::nullopt;
  if (!sent || sent->occurrence != head.occurrence) return {};
  Transition transition;
  transition.id = head.id;
  transition.expected_version = head.version;
  transition.to = Status::resolved;
  transition.now = now_;
  transition.resolution = presumed();
  tried.changes.emplace_back(std::move(transition));
  tried.outcomes.emplace_back(head.id, item_presumed);
  ++tried.next.counts.presumed;
  return {};
}

Result<bool> ReplayWork::settle_all() {
  for (std::size_t i = 0; i < pages_at_once; ++i) {
    const auto items = office_.extras().ledger->documents(job_item_kind(job_.id),
                                                          progress_.settled_up_to, watch_page);
    if (!items) return items.error();
    std::vector<Taken> sent;
    for (const Document& item : *items) {
      if (const auto each = parse_sent(item)) sent.push_back(*each);
    }
    const bool last = items->size() < watch_page;
    progress_.settled_up_to = last ? std::string() : items->back().key;
    const auto settled = settle(sent, true, last || i + 1 == pages_at_once);
    if (!settled || !*settled || last) return settled;
  }
  return false;
}

Result<bool> ReplayWork::settle(const std::vector<Taken>& all, bool time_is_up, bool place_moved) {
  Tried tried{progress_};
  JobProgress& next = tried.next;
  for (const Taken& sent : all) {
    const auto detail = office_.get(sent.id);
    if (!detail && !is_overtaken(detail.error())) return detail.error();
    const auto outcome =
        detail ? outcome_of(detail->record, sent.occurrence, time_is_up, tried.changes)
               : std::optional(item_taken_over);  // removed by somebody
    if (!outcome) continue;
    if (*outcome == item_returned) came_back(detail->record, sent.group, next);
    if (*outcome == item_verified) ++next.counts.verified;
    if (*outcome == item_presumed) ++next.counts.presumed;
    if (*outcome == item_taken_over) ++next.counts.taken_over;
    tried.outcomes.emplace_back(sent.id, std::string(*outcome));
    std::erase(next.awaiting, sent);
  }
  if (tried.outcomes.empty() && !place_moved) return true;
  const auto written = write(std::move(tried));
  // Somebody changed one meanwhile: the next look sees what it is now.
  if (!written && !is_overtaken(written.error())) return written.error();
  return written.has_value();
}

std::optional<std::string_view> ReplayWork::outcome_of(const DeadLetter& record,
                                                       std::uint32_t occurrence, bool time_is_up,
                                                       std::vector<Change>& changes) const {
  switch (outcome_of_sent(record.occurrence > occurrence, record.status,
                          record.resolution ? record.resolution->how : std::string())) {
    case SentOutcome::returned:
      return item_returned;
    case SentOutcome::verified:
      return item_verified;
    case SentOutcome::taken_over:
      return item_taken_over;
    case SentOutcome::awaited:
      break;
  }
  if (!time_is_up) return std::nullopt;
  Transition transition = move(record, Status::resolved);
  transition.resolution = presumed();
  changes.emplace_back(std::move(transition));
  return item_presumed;
}

void ReplayWork::came_back(const DeadLetter& record, const Id128& sent_from,
                           JobProgress& next) const {
  ++next.counts.returned;
  count_return(next, sent_from, record);
  hold(next, mark_of(record));
}

}  // namespace dlo
