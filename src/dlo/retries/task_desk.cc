#include "dlo/retries/task_desk.h"

#include <map>
#include <random>
#include <utility>

#include "dlo/core/dependencies.h"
#include "dlo/core/fallback.h"
#include "dlo/core/id.h"
#include "dlo/core/retention.h"
#include "dlo/core/spelling.h"
#include "dlo/retries/task_answers.h"
#include "dlo/store/rules.h"

namespace dlo {
namespace {

constexpr std::size_t most_desks = 1'000;  // reports may ask for anything

Id128 random_id() {
  thread_local std::mt19937_64 generator(std::random_device{}());
  return {generator(), generator()};
}

/// `wf_` and 12 digits, for tasks that nobody named.
std::string task_id_of(const Id128& delivery) {
  return "wf_" + to_string(delivery).substr(0, 12);
}

/// What a caller may leave out.
void fill_in(TaskReport& task, bool named) {
  Report& report = task.report;
  if (report.counters.attempt == 0) {
    report.counters.fetch = report.counters.attempt = report.counters.total = 1;
  }
  if (report.delivery == Id128{}) report.delivery = random_id();
  auto message = std::make_shared<Message>(*report.message);
  if (named && message->id.empty()) message->id = task_id_of(report.delivery);
  if (request_of(message->headers) != task.asked) put_request(message->headers, task.asked);
  if (depends_on(message->headers).empty()) put_depends_on(message->headers, task.depends_on);
  report.message = std::move(message);
}

/// In memory they count as in the office; only what memory itself cannot hold is its trouble.
bool refuse_if_full(ReportIntake& intake, const FallbackShelf& shelf, const Profile& profile,
                    TaskAnswer& answer) {
  if (places_left(profile.capacity, {intake.last_open() + shelf.size(), 0}) > 0) return false;
  intake.refused_as_full();
  refuse(answer, ReportIntake::full(profile));
  return true;
}

}  // namespace

TaskDesk::TaskDesk(Parts parts)
    : parts_(std::move(parts)),
      shelf_(parts_.office, {parts_.log, parts_.shelved}),
      intake_(parts_.office, shelf_) {}

void TaskDesk::use(const ProfileBook& rules) {
  const std::lock_guard lock(mutex_);
  parts_.rules = rules;
  desks_.clear();
}

std::shared_ptr<const RetryNames> TaskDesk::names() {
  const std::lock_guard lock(mutex_);
  return parts_.rules.names();
}

Result<TaskDesk::DeskPtr> TaskDesk::make_desk(Profile profile, const TaskReport& report) {
  profile = with_request(std::move(profile), report.asked);
  if (!report.category.empty()) profile = with_category(std::move(profile), report.category);
  auto rules = RuleBook::build(std::move(profile), parts_.regex, parts_.custom);
  if (!rules) return rules.error();
  return std::make_shared<ReportDesk>(parts_.office,
                                      std::make_shared<const RuleBook>(std::move(*rules)),
                                      parts_.origin, parts_.clock);
}

Result<TaskDesk::DeskPtr> TaskDesk::desk(const TaskReport& report) {
  const Message& message = *report.report.message;
  const std::lock_guard lock(mutex_);
  auto settings = parts_.rules.find(report.profile, message);
  if (!settings) return settings.error();
  std::string name = report.profile + '\0' + parts_.rules.override_key(message);
  name += '\0' + report.category + '\0';
  if (report.asked.policy) name += (report.asked.plain ? "" : "=") + print(*report.asked.policy);
  if (report.asked.max_retries) name += '\0' + std::to_string(*report.asked.max_retries);
  if (const auto found = desks_.find(name); found != desks_.end()) return found->second;
  auto made = make_desk(std::move(*settings), report);
  if (!made) return made.error();
  if (desks_.size() >= most_desks) desks_.clear();
  desks_[name] = *made;
  return made;
}

/// Strategy first: what is kept out is told why, what is only to be recorded is never retried.
TaskDesk::DeskPtr TaskDesk::admit(TaskReport& report, TaskAnswer& answer) {
  if (!parts_.enabled) {
    refuse(answer, "dlq_disabled",
           {Code::conflict, "tasks.report",
            "Failures are not taken in here (workflow.enabled is false). Nothing was kept: the "
            "message is still yours."});
    return nullptr;
  }
  auto found = desk(report);
  if (!found) {
    refuse(answer, found.error());
    return nullptr;
  }
  const RuleBook& rules = (*found)->rules();
  const auto category = rules.classifier().classify(report.report.failure).category;
  const IntakeDecision decision = intake_.admit(rules.profile(), category, report.requested);
  if (decision.intake == Intake::skip) {
    Reported kept_out;
    kept_out.decision.verdict = RejectToCaller{decision.reason};
    kept_out.decision.category = category;
    kept_out.rules = (*found)->shared_rules();
    tell(answer, report, std::move(kept_out));
    return nullptr;
  }
  const bool named = office_retries(rules.profile());
  // What the office retries itself is handed over, not given up, unless somebody says so.
  report.report.final = report.final && (report.says_final || !named);
  if (decision.intake == Intake::record_not_retried) {
    answer.not_retried = decision.reason;
    report.asked = {RetryPolicy{PolicyKind::never}, std::nullopt};
    found = desk(report);
    if (!found) {
      refuse(answer, found.error());
      return nullptr;
    }
  }
  fill_in(report, named);
  return *found;
}

void TaskDesk::write_one(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer,
                         const Also& also) {
  const auto adding = [&](const std::vector<Reported>& decided, std::vector<Change>& changes) {
    TaskAnswer told = answer;
    tell(told, report, decided.front());
    also(told, changes);
  };
  auto reported =
      desk.report({report.report}, also ? ReportDesk::Also(adding) : ReportDesk::Also());
  if (reported) return told(answer, report, std::move(reported->front()));
  // What is written with it belongs to somebody who can ask again.
  if (!also) return not_written(desk, report, answer, reported.error());
  reject(answer, reported.error());
}

void TaskDesk::told(TaskAnswer& answer, const TaskReport& report, Reported reported) {
  if (reported.record) intake_.persisted();
  const bool merged = reported.record && reported.effect == Effect::merged;
  tell(answer, report, std::move(reported));
  if (!merged) return;
  // If that cannot be read now it stays with what was decided.
  if (auto detail = parts_.office.get(*answer.id)) {
    tell_kept(answer, report, std::make_shared<DeadLetter>(std::move(detail->record)),
              is_held(*answer.id));
  }
}

bool TaskDesk::is_held(const RecordId& id) const {
  return parts_.dependencies != nullptr && parts_.dependencies->holds(id);
}

bool TaskDesk::is_repeat(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer,
                         const Also& also) {
  auto draft = desk.draw_up({report.report});
  if (!draft || !draft->places.front()) return false;
  const DeadLetter& drawn = *std::get<Append>(draft->changes[*draft->places.front()]).record;
  auto detail = parts_.office.get(drawn.id);
  if (!detail || effect_of(&detail->record, drawn) != AppendEffect::merge) return false;
  Reported reported = std::move(draft->answers.front());
  reported.effect = Effect::merged;
  TaskAnswer told = answer;
  tell(told, report, std::move(reported));
  tell_kept(told, report, std::make_shared<DeadLetter>(std::move(detail->record)),
            is_held(drawn.id));
  std::vector<Change> changes;
  if (also) also(told, changes);
  if (!changes.empty()) {
    if (const auto applied = parts_.office.apply(changes); !applied) {
      reject(answer, applied.error());
      return true;
    }
  }
  intake_.persisted();
  answer = std::move(told);
  return true;
}

void TaskDesk::reject(TaskAnswer& answer, Error met) {
  if (met.code != Code::invalid_argument) {
    intake_.rejected();
    shelf_.note_rejected();
  }
  refuse(answer, std::move(met));
}

std::optional<Error> TaskDesk::in_the_way(const Profile& profile) {
  if (profile.store_failure != StoreFailure::memory_fallback || shelf_.size() == 0) return {};
  return shelf_.settle();
}

void TaskDesk::not_written(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer,
                           const Error& met) {
  const Profile& profile = desk.rules().profile();
  const bool may_wait = falls_back(profile.store_failure, met.code) && report.depends_on.empty();
  if (may_wait && put_on_shelf(desk, report, answer)) return;
  reject(answer, met);
}

bool TaskDesk::put_on_shelf(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer) {
  auto draft = desk.draw_up({report.report});
  if (!draft) return false;
  Reported reported = std::move(draft->answers.front());
  if (reported.record) {
    const auto& append = std::get<Append>(draft->changes[*draft->places.front()]);
    Shelved one{append.record, append.attempts, {}};
    one.changes = std::move(draft->changes);
    const auto kept =
        shelf_.add(std::move(one), desk.rules().profile().capacity, intake_.last_open());
    if (kept == FallbackShelf::Kept::no_room) {
      return refuse_if_full(intake_, shelf_, desk.rules().profile(), answer);
    }
    if (kept == FallbackShelf::Kept::merged) {
      reported.effect = Effect::merged;
    } else {
      intake_.kept_in_memory();
    }
    answer.durable = false;
  }
  const bool merged = reported.record && reported.effect == Effect::merged;
  tell(answer, report, std::move(reported));
  if (!merged) return true;
  if (const auto there = shelf_.find(to_string(*answer.id))) {
    tell_kept(answer, report, there->record, false);
  }
  return true;
}

void TaskDesk::report_at(ReportDesk& desk, std::vector<TaskReport>& reports, const Places& places,
                         std::vector<TaskAnswer>& answers) {
  const Profile& profile = desk.rules().profile();
  const auto before = in_the_way(profile);
  const auto room = before ? Result<ReportIntake::Places>(*before) : intake_.places(profile);
  const bool tight = room && room->free < places.size();
  std::vector<Report> written;
  Places let_in;
  for (const std::size_t place : places) {
    if (tight && is_repeat(desk, reports[place], answers[place], {})) continue;  // needs no room
    if (!room) {
      not_written(desk, reports[place], answers[place], room.error());
    } else if (let_in.size() < room->free) {
      written.push_back(reports[place].report);
      let_in.push_back(place);
    } else {
      intake_.refused_as_full();
      refuse(answers[place], ReportIntake::full(profile));
    }
  }
  if (let_in.empty()) return;
  auto reported = desk.report(std::move(written));
  const bool alone = let_in.size() == 1 || (!reported && is_retryable(reported.error().code));
  for (std::size_t i = 0; i < let_in.size(); ++i) {
    const std::size_t place = let_in[i];
    if (reported) {
      told(answers[place], reports[place], std::move((*reported)[i]));
    } else if (alone) {
      not_written(desk, reports[place], answers[place], reported.error());
    } else {
      write_one(desk, reports[place], answers[place], {});
    }
  }
}

/// One that is retried waits for those it names; any other is only kept.
void TaskDesk::write_waiting(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer,
                             const Also& also) {
  if (parts_.dependencies == nullptr || !office_retries(desk.rules().profile())) {
    return refuse(answer,
                  {Code::invalid_argument, "tasks.depends_on",
                   "Tasks wait for each other only where the office retries them: profile " +
                       in_quotes(report.profile) + " leaves that to others."});
  }
  Dependencies& dependencies = *parts_.dependencies;
  const auto ticket = dependencies.begin(*report.report.message);
  if (!ticket && ticket.error().code == Code::conflict) {
    return refuse(answer, "cycle", ticket.error());
  }
  if (!ticket && ticket.error().code == Code::full) {
    intake_.refused_as_full();
    return refuse(answer, ticket.error());
  }
  if (!ticket) return reject(answer, ticket.error());
  if (is_repeat(desk, report, answer, also)) return dependencies.forget(*ticket);
  bool waits = false;
  write_one(desk, report, answer, [&](const TaskAnswer& told, std::vector<Change>& changes) {
    TaskAnswer held = told;
    waits = told.id && told.next_retry_at;
    if (waits) {
      dependencies.hold(*ticket, *told.id, *told.next_retry_at, changes);
      held.waits_for = report.depends_on;
      held.next_retry_at.reset();
    }
    if (also) also(held, changes);
  });
  if (answer.refusal || !waits) return dependencies.forget(*ticket);
  const bool merged = answer.reported->effect == Effect::merged;
  const auto verdict = dependencies.written(*ticket, merged);
  if (std::holds_alternative<Ready>(verdict)) return;
  answer.waits_for = report.depends_on;
  answer.next_retry_at.reset();
  if (const auto* blocked = std::get_if<Blocked>(&verdict)) answer.reason = blocked->why;
}

TaskAnswer TaskDesk::report(TaskReport report, const Also& also) {
  TaskAnswer answer = answer_to(report);
  if (const DeskPtr found = admit(report, answer)) write_alone(*found, report, answer, also);
  return answer;
}

void TaskDesk::write_alone(ReportDesk& desk, const TaskReport& report, TaskAnswer& answer,
                           const Also& also) {
  const Profile& profile = desk.rules().profile();
  const auto before = in_the_way(profile);
  const auto room = before ? Result<ReportIntake::Places>(*before) : intake_.places(profile);
  if (!room && !also) {
    not_written(desk, report, answer, room.error());
  } else if (!room) {
    reject(answer, room.error());
  } else if ((room->free == 0 || (also && report.depends_on.empty())) &&
             is_repeat(desk, report, answer, also)) {
    return;
  } else if (room->free == 0) {
    intake_.refused_as_full();
    refuse(answer, ReportIntake::full(profile));
  } else if (report.depends_on.empty()) {
    write_one(desk, report, answer, also);
  } else {
    write_waiting(desk, report, answer, also);
  }
}

std::vector<TaskAnswer> TaskDesk::report_all(std::vector<TaskReport> reports) {
  std::vector<TaskAnswer> answers;
  std::map<DeskPtr, Places> by_desk;
  std::vector<std::pair<DeskPtr, std::size_t>> waiting;
  answers.reserve(reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    TaskAnswer& answer = answers.emplace_back(answer_to(reports[i]));
    auto found = admit(reports[i], answer);
    if (found == nullptr) continue;
    if (reports[i].depends_on.empty()) {
      by_desk[std::move(found)].push_back(i);
    } else {
      waiting.emplace_back(std::move(found), i);
    }
  }
  for (const auto& [shared, places] : by_desk) report_at(*shared, reports, places, answers);
  // After those which they may wait for.
  for (const auto& [desk, place] : waiting) {
    write_alone(*desk, reports[place], answers[place], {});
  }
  return answers;
}

}  // namespace dlo
