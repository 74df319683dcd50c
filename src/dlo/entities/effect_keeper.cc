#include "dlo/entities/effect_keeper.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dlo {
namespace {

constexpr std::size_t at_once = 100;
constexpr Millis office_again = std::chrono::seconds{5};

std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

EffectKeeper::EffectKeeper(Office& office, const Clock& clock, std::string kind,
                           CarryOutEffect carry_out)
    : office_(office),
      clock_(clock),
      book_(office),
      kind_(std::move(kind)),
      carry_out_(std::move(carry_out)),
      rounds_(clock) {}

EffectKeeper::~EffectKeeper() {
  stop();
}

void EffectKeeper::start() {
  rounds_.start({[this](TimePoint now) { return work(now); }});
}

void EffectKeeper::ring() {
  rounds_.ring(0);
}

void EffectKeeper::stop() {
  stop_.request_stop();
  rounds_.stop();
}

std::optional<TimePoint> EffectKeeper::work(TimePoint now) {
  Ledger* ledger = office_.extras().ledger;
  if (ledger == nullptr) return std::nullopt;
  const std::string prefix = EntityBook::key_of(kind_, "");
  std::optional<TimePoint> next;
  for (std::string after = prefix; !stop_.stop_requested();) {
    const auto some = ledger->documents(effect_document, after, at_once);
    if (!some) return now + office_again;
    for (const Document& each : *some) {
      if (!each.key.starts_with(prefix)) return next;
      if (stop_.stop_requested()) return next;
      next = earlier(next, look_at(each.key.substr(prefix.size()), now));
    }
    if (some->size() < at_once) break;
    after = some->back().key;
  }
  return next;
}

std::optional<TimePoint> EffectKeeper::look_at(const std::string& id, TimePoint now) {
  const auto found = book_.find(kind_, id);
  if (!found) return now + office_again;
  const bool owed =
      *found && (*found)->entity.effect && (*found)->entity.effect->state == EffectState::pending;
  if (!owed) {  // a note that outlived what it was about
    const Change forget =
        PutDocument{effect_document, EntityBook::key_of(kind_, id), std::nullopt, std::nullopt};
    (void)office_.apply({&forget, 1});
    return std::nullopt;
  }
  const auto due = (*found)->entity.effect->next_at;
  if (due && *due > now) return due;
  return carry_out(**found);
}

std::optional<TimePoint> EffectKeeper::carry_out(const KeptEntity& kept) {
  const Result<void> outcome = carry_out_(kept.entity, stop_.get_token());
  if (!outcome && stop_.stop_requested()) return std::nullopt;  // it is owed still, and untold
  const TimePoint ended = clock_.now();
  std::optional<TimePoint> next;
  const auto noted =
      book_.change(kind_, kept.entity.id,
                   [&](const std::optional<KeptEntity>& current) -> Result<EntityBook::Step> {
                     EntityBook::Step step;
                     const bool same = current && current->entity.effect &&
                                       current->entity.dead_letter == kept.entity.dead_letter;
                     step.write = same;
                     if (!same) return step;  // opened again or removed meanwhile
                     step.next = current->entity;
                     step.next->effect = after_try(*current->entity.effect, outcome, ended);
                     next = step.next->effect->next_at;
                     step.also.push_back(note_effect(*step.next));
                     return step;
                   });
  return noted ? next : ended + office_again;
}

void EffectKeepers::start(Office& office, const Clock& clock,
                          const std::map<std::string, CarryOutEffect>& effects) {
  for (const auto& [kind, carry_out] : effects) {
    all_[kind] = std::make_unique<EffectKeeper>(office, clock, kind, carry_out);
    all_[kind]->start();
  }
}

void EffectKeepers::ring(const std::string& kind) {
  const auto found = all_.find(kind);
  if (found != all_.end()) found->second->ring();
}

void EffectKeepers::stop() {
  for (const auto& [kind, keeper] : all_) keeper->stop();
}

}  // namespace dlo
