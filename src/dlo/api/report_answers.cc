#include "dlo/api/report_answers.h"

#include <utility>

#include "dlo/api/answers.h"
#include "dlo/core/decide.h"
#include "dlo/json/text/value.h"
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

/// Of a repeat: what the office has of it.
std::string_view verdict_of(const TaskAnswer& answer) {
  if (answer.kept == nullptr) return dlo::name_of(answer.reported->decision.verdict);
  const bool again = answer.next_retry_at || !answer.waits_for.empty();
  return dlo::name_of(again ? Verdict(RetryAt{}) : Verdict(DeadLetterAs{}));
}

void write_verdict(JsonWriter& json, const TaskAnswer& answer) {
  if (answer.kept != nullptr) {
    if (answer.next_retry_at) {
      json.member("retry_at", *answer.next_retry_at).member("next_retry_at", *answer.next_retry_at);
    }
    if (answer.waits_for.empty() && !answer.reason.empty()) json.member("reason", answer.reason);
    return;
  }
  const Decision& decision = answer.reported->decision;
  if (std::holds_alternative<DeadLetterAs>(decision.verdict)) {
    json.member("reason", answer.reason);
  } else if (const auto* again = std::get_if<RetryAt>(&decision.verdict)) {
    if (answer.waits_for.empty()) json.member("retry_at", again->when);
    json.member("delay_ms", static_cast<std::uint64_t>(again->delay.count()));
    if (answer.next_retry_at) json.member("next_retry_at", *answer.next_retry_at);
  } else if (const auto* rejected = std::get_if<RejectToCaller>(&decision.verdict)) {
    json.member("reason", rejected->reason);
  }
}

void write_kept(JsonWriter& json, const TaskAnswer& answer) {
  json.key("dlq_enqueued").boolean(answer.dlq_enqueued);
  json.key("dlq_task_id");
  if (answer.stored) {
    json.text(answer.dlq_task_id);
  } else {
    json.null();
  }
  json.key("error").text(answer.error);
}

void write_outcome(JsonWriter& json, const TaskAnswer& answer) {
  const Reported& reported = *answer.reported;
  const Decision& decision = reported.decision;
  const DeadLetter* const kept = answer.kept.get();
  json.member("verdict", verdict_of(answer)).key("stored").boolean(answer.stored);
  if (answer.stored) json.key("durable").boolean(answer.durable);
  json.key("id");
  if (answer.id) {
    json.text(to_string(*answer.id));
  } else {
    json.null();
  }
  json.member("category", kept != nullptr ? kept->category : decision.category)
      .member("rule", kept != nullptr ? kept->rule : decision.rule);
  write_verdict(json, answer);
  if (!answer.waits_for.empty()) {
    json.key("waits_for").begin_array();
    for (const std::string& task : answer.waits_for) json.text(task);
    json.end_array();
    if (!answer.reason.empty()) json.member("reason", answer.reason);
  }
  if (reported.rules != nullptr) {
    json.member("policy", answer.policy);
    json.member("limit",
                std::uint64_t{kept != nullptr ? kept->limit
                                              : reported.rules->limit_for(decision.category)});
  }
  write_kept(json, answer);
  if (answer.stored) json.member("effect", name_of(reported.effect));
}

int status_of_outcome(const TaskAnswer& answer) {
  if (!answer.durable) return 202;
  return answer.reported->record && answer.reported->effect != Effect::merged ? 201 : 200;
}

/// Whoever looks for what became of his report finds it where it was kept, too (S2-16).
HttpResponse with_answer(HttpResponse problem, const TaskAnswer& answer) {
  JsonWriter json;
  json.begin_object().key("stored").boolean(answer.stored);
  write_kept(json, answer);
  json.end_object();
  const std::string members = json.take();
  const std::size_t end = problem.body.rfind('}');
  problem.body.replace(end, 1, "," + members.substr(1));
  return problem;
}

HttpResponse problem_of_refusal(const TaskRefusal& refusal) {
  if (refusal.code == "dlq_disabled") return problem(409, "dlq_disabled", refusal.error.detail);
  if (refusal.code == "cycle") return problem(409, "cycle", refusal.error.detail);
  return problem_of(refusal.error);
}

}  // namespace

HttpResponse answer_of(const TaskAnswer& answer) {
  if (answer.refusal) return with_answer(problem_of_refusal(*answer.refusal), answer);
  JsonWriter json;
  json.begin_object().member("status", answer.status);
  write_outcome(json, answer);
  json.end_object();
  return json_answer(json.take(), status_of_outcome(answer));
}

TaskAnswer refused(const Reading& reading, const Error& error) {
  TaskAnswer answer;
  answer.error = reading.error.empty() ? reading.report.failure.text : reading.error;
  answer.reason = error.detail;
  answer.refusal = TaskRefusal{std::string(dlo::name_of(error.code)), error};
  return answer;
}

Result<TaskAnswer> unreadable(std::string_view body, const Error& error) {
  const auto value = parse_json(body);
  if (!value || value->kind != JsonKind::object) return error;
  const JsonValue* const given = value->find("error");
  if (given == nullptr || given->kind != JsonKind::string) return error;
  Reading reading;
  reading.error = given->text();
  return refused(reading, error);
}

HttpResponse refusal_of(const Reading& reading, const Error& error) {
  return answer_of(refused(reading, error));
}

bool is_refused(const Result<TaskAnswer>& outcome) noexcept {
  return !outcome || outcome->refusal;
}

std::string line_of(std::size_t number, const Result<TaskAnswer>& outcome) {
  JsonWriter json;
  json.begin_object().member("line", number);
  if (!is_refused(outcome)) {
    json.member("status", static_cast<std::uint64_t>(status_of_outcome(*outcome)));
    write_outcome(json, *outcome);
  } else {
    const Error& error = outcome ? outcome->refusal->error : outcome.error();
    json.member("status", static_cast<std::uint64_t>(api::status_of(error.code)));
    json.member("code",
                outcome ? std::string_view(outcome->refusal->code) : dlo::name_of(error.code));
    json.key("detail").text(error.detail);
    if (outcome) {
      json.key("stored").boolean(outcome->stored);
      write_kept(json, *outcome);
    }
  }
  json.end_object();
  return json.take() + "\n";
}

}  // namespace dlo::api
