// What was taken is run by an executor, and how that ended is written down.
#include <utility>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/replay_work.h"

namespace dlo {

Result<Stepped> ReplayWork::run_taken(const Taken& taken) {
  const auto detail = office_.get(taken.id);
  if (!detail && !is_overtaken(detail.error())) return detail.error();
  Tried tried{progress_};
  tried.next.sending.clear();
  const auto target = executor_of(targets_, spec_.target);
  if (!detail || detail->record.status != Status::replaying) {
    settle_early(detail ? &detail->record : nullptr, taken, tried);
  } else if (!target) {
    give_back(detail->record, taken.was, tried);
    count_unreachable(tried.next, spec_.target, target.error().detail);
  } else {
    const DeadLetter& record = detail->record;
    const ReplayCount count = rules_for(targets_, record).count;
    const auto ticks = [this] {
      return targets_.ticks ? targets_.ticks() : std::chrono::nanoseconds{0};
    };
    const auto began = ticks();
    auto ran = run_at(*target, replay_of(*detail, record.message->source, spec_, count, now_),
                      record.id, stop_, now_);
    if (ran.not_before) return Stepped{progress_, false, {}, ran.not_before};
    const bool well = ran.outcome.kind == OutcomeKind::ok;
    ++tried.next.counts.ok;
    if (well) ++tried.next.counts.verified;
    if (!well) came_back(record, taken.group, tried.next);
    tried.outcomes.emplace_back(record.id, well ? item_verified : item_returned);
    tried.changes = changes_after({record, taken.was, target->entry->name, job_.spec.notes, now_,
                                   std::chrono::duration_cast<Millis>(ticks() - began)},
                                  std::move(ran.outcome));
    tried.sent.push_back(record.id);
  }
  auto written = write(std::move(tried));
  if (!written && is_overtaken(written.error())) return Stepped{progress_};
  return written;
}

}  // namespace dlo
