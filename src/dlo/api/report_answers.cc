#include "dlo/api/report_answers.h"

#include <utility>

#include "dlo/api/answers.h"
#include "dlo/core/decide.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

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

std::string task_id(const Reading& reading, const Reported& reported) {
  const std::string& id = reading.report.message->id;
  return id.empty() ? to_string(*reported.record) : id;
}

void write_verdict(JsonWriter& json, const Reported& reported) {
  const Decision& decision = reported.decision;
  if (const auto* death = std::get_if<DeadLetterAs>(&decision.verdict)) {
    json.member("reason", death->reason);
  } else if (const auto* again = std::get_if<RetryAt>(&decision.verdict)) {
    json.member("retry_at", again->when);
    json.member("delay_ms", static_cast<std::uint64_t>(again->delay.count()));
    if (reported.record) json.member("next_retry_at", again->when);
  } else if (const auto* rejected = std::get_if<RejectToCaller>(&decision.verdict)) {
    json.member("reason", rejected->reason);
  }
}

void write_outcome(JsonWriter& json, const Reading& reading, const Reported& reported) {
  const Decision& decision = reported.decision;
  const bool stored = reported.record.has_value();
  json.member("verdict", dlo::name_of(decision.verdict)).key("stored").boolean(stored);
  json.key("id");
  if (stored) {
    json.text(to_string(*reported.record));
  } else {
    json.null();
  }
  json.member("category", decision.category).member("rule", decision.rule);
  write_verdict(json, reported);
  if (reported.rules != nullptr) {
    json.member("policy", print(reported.rules->policy_for(decision.category)));
    json.member("limit", std::uint64_t{reported.rules->limit_for(decision.category)});
  }
  json.key("dlq_enqueued").boolean(stored);
  json.key("dlq_task_id");
  if (stored) {
    json.text(task_id(reading, reported));
  } else {
    json.null();
  }
  json.key("error").text(reading.error);
  if (stored) json.member("effect", name_of(reported.effect));
}

int status_of_outcome(const Reported& reported) {
  return reported.record && reported.effect != Effect::merged ? 201 : 200;
}

constexpr std::string_view disabled_code = "dlq_disabled";
constexpr std::string_view disabled =
    "Failures are not taken in here (workflow.enabled is false). Nothing was kept: the message is "
    "still yours.";

HttpResponse with_error(HttpResponse problem, const Reading& reading) {
  JsonWriter json;
  json.begin_object().key("error").text(reading.error).end_object();
  const std::string members = json.take();
  const std::size_t end = problem.body.rfind('}');
  problem.body.replace(end, 1, "," + members.substr(1));
  return problem;
}

}  // namespace

HttpResponse answer_of(const Reading& reading, const Reported& reported) {
  JsonWriter json;
  json.begin_object().member("status", std::string_view("failed"));
  write_outcome(json, reading, reported);
  json.end_object();
  return json_answer(json.take(), status_of_outcome(reported));
}

HttpResponse refusal_of(const Reading& reading, const Error& error) {
  return with_error(problem_of(error), reading);
}

HttpResponse refused_while_disabled(const Reading& reading) {
  return with_error(problem(409, disabled_code, disabled), reading);
}

std::string line_while_disabled(std::size_t number, const Reading& reading) {
  JsonWriter json;
  json.begin_object().member("line", number).member("status", std::uint64_t{409});
  json.member("code", disabled_code).member("detail", disabled).key("error").text(reading.error);
  json.end_object();
  return json.take() + "\n";
}

std::string line_of(std::size_t number, const Reading* reading, const Result<Reported>& outcome) {
  JsonWriter json;
  json.begin_object().member("line", number);
  if (outcome && reading != nullptr) {
    json.member("status", static_cast<std::uint64_t>(status_of_outcome(*outcome)));
    write_outcome(json, *reading, *outcome);
  } else {
    json.member("status", static_cast<std::uint64_t>(api::status_of(outcome.error().code)));
    json.member("code", dlo::name_of(outcome.error().code));
    json.key("detail").text(outcome.error().detail);
    if (reading != nullptr) json.key("error").text(reading->error);
  }
  json.end_object();
  return json.take() + "\n";
}

}  // namespace dlo::api
