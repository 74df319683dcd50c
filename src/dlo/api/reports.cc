#include "dlo/api/reports.h"

#include <algorithm>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/body.h"
#include "dlo/api/report_answers.h"
#include "dlo/core/spelling.h"
#include "dlo/jobs/batch.h"
#include "dlo/server/answers_together.h"

namespace dlo::api {
namespace {

constexpr std::size_t written_at_once = 500;
constexpr std::size_t most_under_a_key = 10'000;
constexpr std::size_t writers = 4;  // the office itself gathers what they bring into one sync
constexpr std::string_view ndjson = "application/x-ndjson";
constexpr const char* foreign_source = "a report of a source outside of its scope";

Error too_busy() {
  return {Code::unavailable, "api.report",
          "The server is too busy; nothing was kept. Report again."};
}

/// A token may be for some sources only.
Result<void> check_source(const Request& request, const Reading& reading) {
  const std::string& source = reading.report.message->source;
  if (allows_source(request.actor.scope, source)) return {};
  return Error{Code::refused, "api.report",
               "The token of " + in_quotes(request.actor.name) + " is not for the source " +
                   in_quotes(source) + ". Nothing was kept of it."};
}

/// Whether the same line would come to the same if it were sent again.
bool is_final(const Result<TaskAnswer>& outcome) {
  if (!is_refused(outcome)) return outcome->durable;
  return !will_pass(outcome ? outcome->refusal->error : outcome.error());
}

HttpResponse answer_of_lines(const std::vector<Line>& lines,
                             const std::vector<Result<TaskAnswer>>& outcomes) {
  HttpResponse answer;
  answer.content_type = ndjson;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_refused(outcomes[i])) answer.status = 207;
    answer.body += line_of(lines[i].number, outcomes[i]);
  }
  return answer;
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

void Reports::write(std::vector<Pending> pending) {
  std::vector<TaskReport> reports;
  reports.reserve(pending.size());
  for (Pending& each : pending) reports.push_back(std::move(each.reading));
  const auto answers = parts_.desk.report_all(std::move(reports));
  const AnswersTogether at_once;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    pending[i].exchange->send(answer_of(answers[i]));
  }
}

void Reports::take(const Request& request, const ExchangePtr& exchange) {
  const std::string type = media_type(request);
  if (type == ndjson) {
    auto carried = std::make_shared<Request>(request);
    if (!parts_.pool.post([this, carried, exchange] { exchange->send(take_batch(*carried)); })) {
      exchange->send(refuse_batch(request, too_busy()));
    }
    return;
  }
  if (type != "application/json") {
    return exchange->send(problem(415, "unsupported_media_type",
                                  "Report one failure as application/json, or many as "
                                  "application/x-ndjson, one object a line."));
  }
  auto reading = read_report(request.http.body, request.now, *parts_.desk.names());
  if (!reading) {
    const auto refusal = unreadable(request.http.body, reading.error());
    return exchange->send(refusal ? answer_of(*refusal) : problem_of(refusal.error()));
  }
  if (const auto allowed = check_source(request, *reading); !allowed) {
    request.note_refused(foreign_source);
    return exchange->send(problem_of(allowed.error()));
  }
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
  if (!before) return refusal_of(reading, before.error());
  if (*before) return **before;
  const TaskAnswer answer =
      parts_.desk.report(reading, [&](const TaskAnswer& told, std::vector<Change>& changes) {
        changes.emplace_back(key.keep(answer_of(told)));
      });
  if (!answer.refusal) {
    if (answer.stored) IdempotencyKey::forget_old(parts_.office, request.now);
    return answer_of(answer);
  }
  // Somebody was quicker with the same key: his answer is this one's too.
  const auto meanwhile = key.find(parts_.office);
  if (meanwhile && *meanwhile) return **meanwhile;
  return answer_of(answer);
}

/// Under a key a batch is taken once. Lines that name no message are known by the key and their
/// number, so that a repeat after a crash, before the answer was kept, meets the same dead letters.
HttpResponse Reports::take_batch(const Request& request) {
  const auto key = IdempotencyKey::of(request);
  if (!key) return problem_of(key.error());
  if (!*key) return take_lines(request, nullptr, nullptr);
  if (lines_of(request.http.body).size() > most_under_a_key) {  // their answers are kept
    return problem(400, "invalid_argument",
                   "A batch under an Idempotency-Key has at most 10000 lines. Nothing was kept; "
                   "send it in parts, each under a key of its own.");
  }
  const auto before = (*key)->find(parts_.office);
  if (!before) return problem_of(before.error());
  if (*before) return **before;
  bool final = false;
  HttpResponse answer = take_lines(request, &**key, &final);
  if (!final) return answer;  // what could not be kept now may be, if it is sent again
  const Change kept = (*key)->keep(answer);
  if (parts_.office.apply({&kept, 1})) {
    IdempotencyKey::forget_old(parts_.office, request.now);
    return answer;
  }
  const auto meanwhile = (*key)->find(parts_.office);  // somebody was quicker with the same key
  return meanwhile && *meanwhile ? **meanwhile : answer;
}

HttpResponse Reports::take_lines(const Request& request, const IdempotencyKey* key, bool* final) {
  const auto lines = lines_of(request.http.body);
  const auto words = parts_.desk.names();
  std::vector<Result<TaskAnswer>> outcomes(lines.size(), Result<TaskAnswer>(Error{}));
  std::vector<std::size_t> places;  // of those that could be read
  std::vector<TaskReport> good;
  bool foreign = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto reading = read_report(lines[i].text, request.now, *words);
    if (!reading) {
      outcomes[i] = unreadable(lines[i].text, reading.error());
    } else if (auto allowed = check_source(request, *reading); !allowed) {
      outcomes[i] = allowed.error();
      foreign = true;
    } else {
      reading->report.by = request.actor.name;
      if (key != nullptr) reading->report.delivery = key->identity(lines[i].number);
      good.push_back(std::move(*reading));
      places.push_back(i);
    }
  }
  if (foreign) request.note_refused(foreign_source);  // once, however many lines
  auto answers = parts_.desk.report_all(std::move(good));
  for (std::size_t i = 0; i < places.size(); ++i) outcomes[places[i]] = std::move(answers[i]);
  if (final != nullptr) *final = std::all_of(outcomes.begin(), outcomes.end(), is_final);
  return answer_of_lines(lines, outcomes);
}

HttpResponse Reports::refuse_batch(const Request& request, const Error& why) {
  const auto lines = lines_of(request.http.body);
  const auto words = parts_.desk.names();
  std::vector<Result<TaskAnswer>> outcomes;
  outcomes.reserve(lines.size());
  for (const auto& line : lines) {
    const auto reading = read_report(line.text, request.now, *words);
    outcomes.push_back(reading ? Result<TaskAnswer>(refused(*reading, why))
                               : unreadable(line.text, reading.error()));
  }
  return answer_of_lines(lines, outcomes);
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
