#include "dlo/cli/retry_wait.h"

#include <optional>
#include <utility>

#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/core/acts.h"

namespace dlo::cli {
namespace {

constexpr Millis between_looks{200};

struct Told {
  RetryOutcome outcome = RetryOutcome::awaited;
  Reply reply;
};
struct Asked {
  std::string said;    // as it was named here
  std::string record;  // a task id may mean another one later
  AskedRetry then;
  std::optional<Told> told;  // it was over before anybody could look
};

AskedRetry numbers_of(const JsonValue& record) {
  return {static_cast<std::uint32_t>(number_of(member(record, "counters"), "failure")),
          static_cast<std::uint32_t>(number_of(record, "occurrence"))};
}

/// As the server saw it when it answered; what is awaited was not run yet.
RetryOutcome outcome_in(const JsonValue& record) {
  const std::string said = text_of(member(record, "retry"), "outcome");
  for (const auto outcome :
       {RetryOutcome::worked, RetryOutcome::failed, RetryOutcome::taken_over}) {
    if (said == name_of(outcome)) return outcome;
  }
  return RetryOutcome::awaited;
}

/// The record, once its run is over.
Result<Told> outcome_of(Context& context, Client& client, const Asked& asked) {
  if (asked.told) return *asked.told;
  const std::string path = Address("/v1/dead-letters").step(asked.record).text();
  while (true) {
    auto reply = ask_for(client, {"GET", path, ""});
    if (!reply) return reply.error();
    const auto status = parse_status(text_of(reply->value, "status"));
    const RetryOutcome outcome =
        outcome_of_retry(asked.then, numbers_of(reply->value), status.value_or(Status::pending),
                         text_of(member(reply->value, "resolution"), "how"));
    if (outcome != RetryOutcome::awaited || !context.pause) {
      return Told{outcome, std::move(*reply)};
    }
    context.pause(between_looks);
  }
}

std::string why_not(const Told& told) {
  switch (told.outcome) {
    case RetryOutcome::worked:
      return {};
    case RetryOutcome::failed:
      return text_of(member(told.reply.value, "failure"), "text");
    case RetryOutcome::awaited:
      return "not over yet";
    case RetryOutcome::taken_over:
      break;
  }
  return "somebody else dealt with it first";
}

}  // namespace

int retry_and_wait(Context& context, Client& client, const std::vector<std::string>& ids,
                   const std::string& body) {
  std::vector<Asked> all;
  int worst = exit_error;
  for (const std::string& id : ids) {  // all first: they run side by side
    std::string path =
        Address("/v1/dead-letters").step(id).step("retry").with("wait_ms", "0").text();
    const auto reply = ask_for(client, {"POST", std::move(path), body});
    if (reply) {
      const RetryOutcome outcome = outcome_in(reply->value);
      all.push_back({id, text_of(reply->value, "id"), numbers_of(reply->value), {}});
      if (outcome != RetryOutcome::awaited) all.back().told = Told{outcome, *reply};
      continue;
    }
    worst = refuse(context, reply.error());
    if (reply.error().code == Code::refused || is_retryable(reply.error().code)) break;
  }
  std::size_t worked = 0;
  Rows rows(context, {"id", "status", "worked", "error"});
  for (const Asked& asked : all) {
    const auto told = outcome_of(context, client, asked);
    if (!told) {
      worst = refuse(context, told.error());
      continue;
    }
    const JsonValue& record = told->reply.value;
    const bool well = told->outcome == RetryOutcome::worked;
    worked += well ? 1 : 0;
    rows.add({asked.said, text_of(record, "status"), well ? "yes" : "no", why_not(*told)});
  }
  rows.end();
  if (worked == ids.size()) return exit_ok;
  return worked == 0 ? worst : exit_partial;
}

}  // namespace dlo::cli
