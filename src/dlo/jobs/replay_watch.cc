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
  // A wave is waited for, and a few are quickly looked at; many only once, when time is up.
  const bool worth_a_look =
      few_at_a_time() || (spec_.canary > 0 && !progress_.listed) || counts.ok <= few;
  if (!worth_a_look && now_ < due) return Stepped{progress_, false, {}, due};
  const auto looked =
      few_at_a_time() ? settle(progress_.awaiting, now_ >= due) : look_at_all(now_ >= due);
  if (!looked) return looked.error();
  if (progress_.counts.awaited() == 0) return Stepped{progress_, progress_.listed};
  return Stepped{progress_, false, {}, std::min(now_ + look_every, std::max(due, now_))};
}

Result<void> ReplayWork::look_at_all(bool time_is_up) {
  std::string after;
  while (true) {
    const auto items =
        office_.extras().ledger->documents(job_item_kind(job_.id), after, watch_page);
    if (!items) return items.error();
    if (items->empty()) return {};
    std::vector<Taken> sent;
    for (const Document& item : *items) {
      if (const auto each = parse_sent(item)) sent.push_back(*each);
    }
    if (auto settled = settle(sent, time_is_up); !settled) return settled;
    after = items->back().key;
  }
}

Result<void> ReplayWork::settle(const std::vector<Taken>& all, bool time_is_up) {
  JobProgress next = progress_;
  std::vector<Change> changes;
  Outcomes outcomes;
  for (const Taken& sent : all) {
    const auto detail = office_.get(sent.id);
    if (!detail && !is_overtaken(detail.error())) return detail.error();
    const auto outcome = detail ? outcome_of(detail->record, sent.occurrence, time_is_up, changes)
                                : std::optional(item_taken_over);  // removed by somebody
    if (!outcome) continue;
    if (*outcome == item_returned) came_back(detail->record, sent.group, next);
    if (*outcome == item_verified) ++next.counts.verified;
    if (*outcome == item_presumed) ++next.counts.presumed;
    if (*outcome == item_taken_over) ++next.counts.taken_over;
    outcomes.emplace_back(sent.id, std::string(*outcome));
    std::erase(next.awaiting, sent);
  }
  if (outcomes.empty()) return {};
  const auto written = write(std::move(changes), std::move(outcomes), std::move(next));
  // Somebody changed one meanwhile: the next look sees what it is now.
  if (!written && !is_overtaken(written.error())) return written.error();
  return {};
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
