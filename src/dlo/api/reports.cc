#include "dlo/api/reports.h"

#include <map>
#include <random>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/body.h"
#include "dlo/api/report_answers.h"
#include "dlo/core/decide.h"
#include "dlo/core/identity.h"
#include "dlo/core/sha256.h"
#include "dlo/core/spelling.h"
#include "dlo/server/answers_together.h"

namespace dlo::api {
namespace {

constexpr std::size_t written_at_once = 500;
constexpr std::size_t most_desks = 1'000;  // reports may ask for anything
constexpr std::size_t writers = 4;  // the office itself gathers what they bring into one sync
constexpr std::string_view ndjson = "application/x-ndjson";
constexpr const char* foreign_source = "a report of a source outside of its scope";

Error too_busy() {
  return {Code::unavailable, "api.report",
          "The server is too busy; nothing was kept. Report again."};
}

Id128 random_id() {
  thread_local std::mt19937_64 generator(std::random_device{}());
  return {generator(), generator()};
}

/// `wf_` and 12 digits, for tasks that nobody named.
std::string new_task_id() {
  const std::string digits = to_string(random_id());
  return "wf_" + digits.substr(0, 12);
}

/// A token may be for some sources only.
Result<void> check_source(const Request& request, const Reading& reading) {
  const std::string& source = reading.report.message->source;
  if (allows_source(request.actor.scope, source)) return {};
  return Error{Code::refused, "api.report",
               "The token of " + in_quotes(request.actor.name) + " is not for the source " +
                   in_quotes(source) + ". Nothing was kept of it."};
}

}  // namespace

Reports::Reports(Parts parts)
    : parts_(std::move(parts)),
      gatherer_(
          parts_.pool, written_at_once, writers,
          [this](std::vector<Pending> pending) { write(std::move(pending)); },
          [](Pending& refused) {
            refused.exchange->send(refusal_of(refused.reading, too_busy()));
          }) {}

void Reports::use(const ProfileBook& rules) {
  const std::lock_guard lock(mutex_);
  parts_.rules = rules;
  desks_.clear();
}

Result<Reports::DeskPtr> Reports::desk(const Reading& reading) {
  const Message& message = *reading.report.message;
  const std::string& source = message.source;
  const std::lock_guard lock(mutex_);
  auto settings = parts_.rules.find(reading.profile, source);
  if (!settings) return settings.error();
  // What the office retries itself is handed over, not given up, unless somebody says so.
  const bool given_up = reading.final && (reading.says_final || !office_retries(*settings));
  std::string name = reading.profile + (given_up ? "/final" : "");
  if (parts_.rules.sources().contains(source)) name += "/" + source;
  name += '\0' + reading.category + '\0';
  if (reading.asked.policy) name += print(*reading.asked.policy);
  if (reading.asked.max_retries) name += '\0' + std::to_string(*reading.asked.max_retries);
  if (const auto found = desks_.find(name); found != desks_.end()) return found->second;
  Profile profile = with_request(std::move(*settings), reading.asked);
  if (!reading.category.empty()) profile = with_category(std::move(profile), reading.category);
  // Who has given up asks for no further attempt: the one that failed was the last.
  if (given_up) profile = with_limit(std::move(profile), 1);
  auto rules = RuleBook::build(std::move(profile), parts_.regex);
  if (!rules) return rules.error();
  auto made = std::make_shared<ReportDesk>(parts_.office,
                                           std::make_shared<const RuleBook>(std::move(*rules)),
                                           parts_.origin, parts_.clock);
  if (desks_.size() >= most_desks) desks_.clear();
  desks_[name] = made;
  return made;
}

/// Where a report goes, once its strategy has let it in: what is kept out is told why, what is only
/// to be recorded is never retried.
Result<Reports::Admitted> Reports::admit(Reading& reading) {
  auto found = desk(reading);
  if (!found) return found.error();
  Admitted admitted{*found, std::nullopt};
  const RuleBook& rules = (*found)->rules();
  const auto category = rules.classifier().classify(reading.report.failure).category;
  const IntakeDecision decision =
      parts_.intake->admit(rules.profile(), category, reading.requested);
  if (decision.intake == Intake::skip) {
    Reported kept_out;
    kept_out.decision.verdict = RejectToCaller{decision.reason};
    kept_out.decision.category = category;
    kept_out.rules = (*found)->shared_rules();
    admitted.kept_out = std::move(kept_out);
    return admitted;
  }
  const bool retried = office_retries(rules.profile());
  auto message = std::make_shared<Message>(*reading.report.message);
  if (retried && message->id.empty()) message->id = new_task_id();
  if (decision.intake == Intake::record_not_retried) {
    reading.asked = {RetryPolicy{PolicyKind::never}, std::nullopt};
    put_request(message->headers, reading.asked);
  }
  reading.report.message = std::move(message);
  if (decision.intake != Intake::record_not_retried) return admitted;
  found = desk(reading);
  if (!found) return found.error();
  admitted.desk = *found;
  return admitted;
}

void Reports::report_at(ReportDesk& desk, const std::vector<Reading*>& readings,
                        const std::vector<std::size_t>& places, std::vector<Outcome>& outcomes) {
  const auto room = parts_.intake->places(desk.rules().profile());
  std::vector<Report> reports;
  std::vector<std::size_t> let_in;
  for (const std::size_t place : places) {
    if (!room) {
      outcomes[place] = room.error();
    } else if (let_in.size() < room->free) {
      reports.push_back(readings[place]->report);
      let_in.push_back(place);
    } else {
      parts_.intake->refused_as_full();
      outcomes[place] = ReportIntake::full(desk.rules().profile());
    }
  }
  if (let_in.empty()) return;
  auto reported = desk.report(std::move(reports));
  const bool alone = let_in.size() == 1 || (!reported && is_retryable(reported.error().code));
  for (std::size_t i = 0; i < let_in.size(); ++i) {
    if (reported) {
      outcomes[let_in[i]] = std::move((*reported)[i]);
    } else if (alone) {
      outcomes[let_in[i]] = reported.error();
    } else {
      auto single = desk.report({readings[let_in[i]]->report});
      outcomes[let_in[i]] = single ? Outcome(std::move(single->front())) : Outcome(single.error());
    }
  }
}

std::vector<Reports::Outcome> Reports::report_all(const std::vector<Reading*>& readings) {
  std::vector<Outcome> outcomes(readings.size(), Outcome(Error{}));
  std::map<DeskPtr, std::vector<std::size_t>> by_desk;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    auto admitted = admit(*readings[i]);
    if (!admitted) {
      outcomes[i] = admitted.error();
    } else if (admitted->kept_out) {
      outcomes[i] = std::move(*admitted->kept_out);
    } else {
      by_desk[admitted->desk].push_back(i);
    }
  }
  for (const auto& [shared, places] : by_desk) report_at(*shared, readings, places, outcomes);
  return outcomes;
}

void Reports::write(std::vector<Pending> pending) {
  std::vector<Reading*> readings;
  for (Pending& each : pending) readings.push_back(&each.reading);
  const auto outcomes = report_all(readings);
  const AnswersTogether at_once;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    pending[i].exchange->send(outcomes[i] ? answer_of(pending[i].reading, *outcomes[i])
                                          : refusal_of(pending[i].reading, outcomes[i].error()));
  }
}

void Reports::take(const Request& request, const ExchangePtr& exchange) {
  const std::string type = media_type(request);
  if (type == ndjson) {
    auto carried = std::make_shared<Request>(request);
    if (!parts_.pool.post([this, carried, exchange] { exchange->send(take_batch(*carried)); })) {
      exchange->send(problem_of(too_busy()));
    }
    return;
  }
  if (type != "application/json") {
    return exchange->send(problem(415, "unsupported_media_type",
                                  "Report one failure as application/json, or many as "
                                  "application/x-ndjson, one object a line."));
  }
  auto reading = read_report(request.http.body, request.now);
  if (!reading) return exchange->send(problem_of(reading.error()));
  if (const auto allowed = check_source(request, *reading); !allowed) {
    request.note_refused(foreign_source);
    return exchange->send(problem_of(allowed.error()));
  }
  if (!parts_.enabled) return exchange->send(refused_while_disabled(*reading));
  reading->report.delivery = random_id();
  reading->report.by = request.actor.name;
  auto key = IdempotencyKey::of(request);
  if (!key) return exchange->send(problem_of(key.error()));
  Pending pending{std::move(*reading), exchange};
  if (!*key) return gatherer_.add(std::move(pending), *exchange);
  const bool taken = parts_.pool.post([this, request, named = std::move(**key), pending] {
    pending.exchange->send(take_keyed(request, named, pending.reading));
  });
  if (!taken) exchange->send(refusal_of(pending.reading, too_busy()));
}

HttpResponse Reports::take_keyed(const Request& request, const IdempotencyKey& key,
                                 Reading reading) {
  const auto before = key.find(parts_.office);
  if (!before) return problem_of(before.error());
  if (*before) return **before;
  auto admitted = admit(reading);
  if (!admitted) return refusal_of(reading, admitted.error());
  if (admitted->kept_out) return answer_of(reading, *admitted->kept_out);
  const auto room = parts_.intake->places(admitted->desk->rules().profile());
  if (!room) return refusal_of(reading, room.error());
  if (room->free == 0) {
    parts_.intake->refused_as_full();
    return refusal_of(reading, ReportIntake::full(admitted->desk->rules().profile()));
  }
  auto reported = admitted->desk->report(
      {reading.report}, [&](const std::vector<Reported>& decided, std::vector<Change>& changes) {
        changes.emplace_back(key.keep(answer_of(reading, decided.front())));
      });
  if (reported) {
    IdempotencyKey::forget_old(parts_.office, request.now);
    return answer_of(reading, reported->front());
  }
  // Somebody was quicker with the same key: his answer is this one's too.
  const auto meanwhile = key.find(parts_.office);
  if (meanwhile && *meanwhile) return **meanwhile;
  return refusal_of(reading, reported.error());
}

HttpResponse Reports::take_batch(const Request& request) {
  if (request.http.has_header("Idempotency-Key")) {
    return problem(400, "invalid_argument",
                   "A batch takes no Idempotency-Key. Give every message an `id` instead: the same "
                   "source, id and content is the same dead letter, however often it is reported.");
  }
  const auto lines = lines_of(request.http.body);
  std::vector<Result<Reading>> readings;
  std::vector<Reading*> good;
  readings.reserve(lines.size());
  bool foreign = false;
  for (const Line& line : lines) {
    auto& reading = readings.emplace_back(read_report(line.text, request.now));
    if (!reading) continue;
    if (auto allowed = check_source(request, *reading); !allowed) {
      reading = allowed.error();
      foreign = true;
      continue;
    }
    reading->report.delivery = random_id();
    reading->report.by = request.actor.name;
    good.push_back(&*reading);
  }
  if (foreign) request.note_refused(foreign_source);  // once, however many lines
  auto outcomes = parts_.enabled ? report_all(good) : std::vector<Outcome>{};
  HttpResponse answer;
  answer.content_type = ndjson;
  std::size_t next = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (readings[i] && !parts_.enabled) {
      answer.status = 207;
      answer.body += line_while_disabled(lines[i].number, *readings[i]);
      continue;
    }
    const Outcome outcome =
        readings[i] ? std::move(outcomes[next++]) : Outcome(readings[i].error());
    if (!outcome) answer.status = 207;
    answer.body += line_of(lines[i].number, readings[i] ? &*readings[i] : nullptr, outcome);
  }
  return answer;
}

std::vector<Route> Reports::routes() {
  return {
      {"POST",
       "/v1/dead-letters",
       Role::operator_,
       Lane::here,
       {},
       [this](const Request& request, const ExchangePtr& exchange) { take(request, exchange); }}};
}

}  // namespace dlo::api
