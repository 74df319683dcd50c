// One of several servers on one office: what it does when it leads, and how it learns of what the
// others wrote.
#include "dlo/api/service.h"

namespace dlo::api {

void Service::lead(std::uint64_t term) {
  duties_->begin(term);
  dependencies_.judge_everybody();
  rounds_.ring(look_for_alerts);
}

void Service::yield() {
  duties_->end();
}

void Service::look_at_others() {
  AggregateRequest request;
  request.tallies = false;
  request.due = retries_->from();
  const auto numbers = office_.aggregate(request);
  if (!numbers) return;  // the next look sees it all
  if (numbers->next_due) timer_.note(*numbers->next_due);
  if (numbers->last_change == seen_) return;
  seen_ = numbers->last_change;
  tokens_.read(timer_.now().wall);
  if (hall_ != nullptr) hall_->follow();
  retries_->follow_circuits(timer_.now().wall);
  dependencies_.follow(duties_->are_ours());
  look_for_pauses();
  duties_->look_again();
}

void Service::look_for_pauses() {
  Ledger* const ledger = office_.extras().ledger;
  if (ledger == nullptr || !consumed_.pause) return;
  for (const std::string& source : consumed_.names) {
    const auto found = ledger->document(paused_kind, source);
    if (!found) continue;
    const bool paused = found->has_value();
    const auto [known, is_new] = pauses_.try_emplace(source, paused);
    if (!is_new && known->second == paused) continue;
    known->second = paused;
    consumed_.pause(source, paused);
  }
}

}  // namespace dlo::api
