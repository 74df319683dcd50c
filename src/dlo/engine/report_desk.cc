#include "dlo/engine/report_desk.h"

#include <map>
#include <utility>

#include "dlo/engine/random_bits.h"
#include "dlo/store/death_audit.h"

namespace dlo {

ReportDesk::ReportDesk(Office& office, std::shared_ptr<const RuleBook> rules, Origin origin,
                       const Clock& clock)
    : office_(office),
      rules_(std::move(rules)),
      clock_(clock),
      writer_(office),
      suspects_(office, "reports"),
      procedure_(rules_, nobody_, {}, writer_, suspects_, std::move(origin)) {}

Result<Plan> ReportDesk::decide(Report& report, TimePoint now) {
  Item item;
  item.delivery.message = report.message;
  item.delivery.counters = report.counters;
  item.delivery.lease = LeaseToken{report.delivery};
  item.has_caller = true;
  item.running = report.counters;
  Plan plan =
      procedure_.after_report(item, std::move(report.failure), now, random_bits(), report.final);
  if (plan.kind != Plan::Kind::dead && plan.kind != Plan::Kind::wait) return plan;
  if (!plan.named) {
    if (auto named = writer_.name(item.delivery, *plan.record); !named) return named.error();
  }
  if (plan.kind == Plan::Kind::wait) {
    // It was handed over: from now on it is a dead letter whose retry is scheduled (D14, S2-3).
    plan.record->status = Status::pending;
    plan.record->reason = plan.record->category;
    plan.record->fingerprint =
        fingerprint_of(plan.record->failure, plan.record->message->event_type, plan.record->reason);
  }
  plan.record->source_unsettled = false;  // whoever reports holds the message
  plan.record->handler = std::move(report.handler);
  plan.record->metadata = std::move(report.metadata);
  plan.record->tags = std::move(report.tags);
  return plan;
}

Result<ReportDesk::Draft> ReportDesk::draw_up(std::vector<Report> reports, const Also& also) {
  const TimePoint now = clock_.now();
  Draft draft;
  std::map<std::string, DeathToll> tolls;  // by who tells of them
  for (Report& report : reports) {
    auto plan = decide(report, now);
    if (!plan) return plan.error();
    Reported& answer = draft.answers.emplace_back();
    auto& place = draft.places.emplace_back();
    for (Change& change : plan->changes) draft.changes.push_back(std::move(change));
    if (plan->kind == Plan::Kind::dead || plan->kind == Plan::Kind::wait) {
      place = draft.changes.size();
      answer.record = plan->record->id;
      writer_.write({}, plan->record, std::move(plan->attempts), now, draft.changes);
      tolls[report.by].add(draft.changes.back());
    }
    answer.decision = std::move(plan->decision);
    answer.rules = rules_;
  }
  for (const auto& [by, toll] : tolls) {
    if (auto entry = toll.entry(by, now)) draft.changes.emplace_back(std::move(*entry));
  }
  if (also) also(draft.answers, draft.changes);
  return draft;
}

Result<std::vector<Reported>> ReportDesk::write(Draft draft) {
  if (draft.changes.empty()) return std::move(draft.answers);
  const auto applied = office_.apply(draft.changes);
  if (!applied) return applied.error();
  for (std::size_t i = 0; i < draft.answers.size(); ++i) {
    if (draft.places[i]) draft.answers[i].effect = (*applied)[*draft.places[i]].effect;
  }
  return std::move(draft.answers);
}

Result<std::vector<Reported>> ReportDesk::report(std::vector<Report> reports, const Also& also) {
  auto draft = draw_up(std::move(reports), also);
  if (!draft) return draft.error();
  return write(std::move(*draft));
}

}  // namespace dlo
