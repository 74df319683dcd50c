#include "dlo/api/reports.h"

#include <map>
#include <random>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/body.h"
#include "dlo/core/decide.h"
#include "dlo/core/identity.h"
#include "dlo/core/sha256.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"
#include "dlo/server/answers_together.h"

namespace dlo::api {
namespace {

constexpr std::size_t written_at_once = 500;
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

std::string_view name_of(Effect effect) noexcept {
  switch (effect) {
    case Effect::applied:
      return "kept";
    case Effect::merged:
      return "merged";
    case Effect::reopened:
      return "reopened";
  }
  return "kept";
}

void write_outcome(JsonWriter& json, const Reported& reported) {
  const Decision& decision = reported.decision;
  json.member("verdict", dlo::name_of(decision.verdict));
  json.key("id");
  if (reported.record) {
    json.text(to_string(*reported.record));
  } else {
    json.null();
  }
  json.member("category", decision.category).member("rule", decision.rule);
  if (const auto* death = std::get_if<DeadLetterAs>(&decision.verdict)) {
    json.member("reason", death->reason);
  } else if (const auto* again = std::get_if<RetryAt>(&decision.verdict)) {
    json.member("retry_at", again->when);
    json.member("delay_ms", static_cast<std::uint64_t>(again->delay.count()));
  } else if (const auto* rejected = std::get_if<RejectToCaller>(&decision.verdict)) {
    json.member("reason", rejected->reason);
  }
}

int status_of_outcome(const Reported& reported) {
  return reported.record && reported.effect != Effect::merged ? 201 : 200;
}

HttpResponse answer_of(const Reported& reported) {
  JsonWriter json;
  json.begin_object();
  write_outcome(json, reported);
  if (reported.record) json.member("effect", name_of(reported.effect));
  json.end_object();
  return json_answer(json.take(), status_of_outcome(reported));
}

std::string line_of(std::size_t number, const Result<Reported>& outcome) {
  JsonWriter json;
  json.begin_object().member("line", number);
  if (outcome) {
    json.member("status", static_cast<std::uint64_t>(status_of_outcome(*outcome)));
    write_outcome(json, *outcome);
    if (outcome->record) json.member("effect", name_of(outcome->effect));
  } else {
    json.member("status", static_cast<std::uint64_t>(api::status_of(outcome.error().code)));
    json.member("code", dlo::name_of(outcome.error().code));
    json.key("detail").text(outcome.error().detail);
  }
  json.end_object();
  return json.take() + "\n";
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
          [](Pending& refused) { refused.exchange->send(problem_of(too_busy())); }) {}

void Reports::use(const ProfileBook& rules) {
  const std::lock_guard lock(mutex_);
  parts_.rules = rules;
  desks_.clear();
}

Result<Reports::DeskPtr> Reports::desk(const Reading& reading) {
  const std::string& source = reading.report.message->source;
  const std::lock_guard lock(mutex_);
  std::string name = reading.profile + (reading.final ? "/final" : "");
  if (parts_.rules.sources().contains(source)) name += "/" + source;
  if (const auto found = desks_.find(name); found != desks_.end()) return found->second;
  auto profile = parts_.rules.find(reading.profile, source);
  if (!profile) return profile.error();
  // Who has given up asks for no further attempt: the one that failed was the last.
  if (reading.final) *profile = with_limit(std::move(*profile), 1);
  auto rules = RuleBook::build(std::move(*profile), parts_.regex);
  if (!rules) return rules.error();
  auto made = std::make_shared<ReportDesk>(parts_.office,
                                           std::make_shared<const RuleBook>(std::move(*rules)),
                                           parts_.origin, parts_.clock);
  desks_[name] = made;
  return made;
}

std::vector<Reports::Outcome> Reports::report_all(std::vector<Reading*> readings) {
  std::vector<Outcome> outcomes(readings.size(), Outcome(Error{}));
  std::map<DeskPtr, std::vector<std::size_t>> by_desk;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    auto found = desk(*readings[i]);
    if (found) {
      by_desk[*found].push_back(i);
    } else {
      outcomes[i] = found.error();
    }
  }
  for (const auto& [shared, places] : by_desk) {
    std::vector<Report> reports;
    for (const std::size_t place : places) reports.push_back(readings[place]->report);
    auto reported = shared->report(std::move(reports));
    if (reported) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        outcomes[places[i]] = std::move((*reported)[i]);
      }
      continue;
    }
    const bool alone = places.size() == 1 || is_retryable(reported.error().code);
    for (const std::size_t place : places) {
      if (alone) {
        outcomes[place] = reported.error();
        continue;
      }
      auto single = shared->report({readings[place]->report});
      outcomes[place] = single ? Outcome(std::move(single->front())) : Outcome(single.error());
    }
  }
  return outcomes;
}

void Reports::write(std::vector<Pending> pending) {
  std::vector<Reading*> readings;
  for (Pending& each : pending) readings.push_back(&each.reading);
  const auto outcomes = report_all(std::move(readings));
  const AnswersTogether at_once;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    pending[i].exchange->send(outcomes[i] ? answer_of(*outcomes[i])
                                          : problem_of(outcomes[i].error()));
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
  reading->report.delivery = random_id();
  reading->report.by = request.actor.name;
  auto key = IdempotencyKey::of(request);
  if (!key) return exchange->send(problem_of(key.error()));
  Pending pending{std::move(*reading), exchange};
  if (!*key) return gatherer_.add(std::move(pending), *exchange);
  const bool taken = parts_.pool.post([this, request, named = std::move(**key), pending] {
    pending.exchange->send(take_keyed(request, named, pending.reading));
  });
  if (!taken) exchange->send(problem_of(too_busy()));
}

HttpResponse Reports::take_keyed(const Request& request, const IdempotencyKey& key,
                                 Reading reading) {
  const auto before = key.find(parts_.office);
  if (!before) return problem_of(before.error());
  if (*before) return **before;
  const auto found = desk(reading);
  if (!found) return problem_of(found.error());
  auto reported =
      (*found)->report({std::move(reading.report)},
                       [&key](const std::vector<Reported>& decided, std::vector<Change>& changes) {
                         changes.emplace_back(key.keep(answer_of(decided.front())));
                       });
  if (reported) {
    IdempotencyKey::forget_old(parts_.office, request.now);
    return answer_of(reported->front());
  }
  // Somebody was quicker with the same key: his answer is this one's too.
  const auto meanwhile = key.find(parts_.office);
  if (meanwhile && *meanwhile) return **meanwhile;
  return problem_of(reported.error());
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
  auto outcomes = report_all(good);
  HttpResponse answer;
  answer.content_type = ndjson;
  std::size_t next = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Outcome outcome =
        readings[i] ? std::move(outcomes[next++]) : Outcome(readings[i].error());
    if (!outcome) answer.status = 207;
    answer.body += line_of(lines[i].number, outcome);
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
