#include "dlo/cli/retry_wait.h"

#include <optional>

#include "dlo/cli/output.h"
#include "dlo/cli/table.h"

namespace dlo::cli {
namespace {

constexpr Millis between_looks{200};

struct Asked {
  std::string said;    // as it was named here
  std::string record;  // a task id may mean another one later
  std::string failures;
};

std::string failures_of(const JsonValue& record) {
  return text_of(member(record, "counters"), "failure");
}

/// The record, once its run is over.
Result<Reply> outcome_of(Context& context, Client& client, const Asked& asked) {
  const std::string path = Address("/v1/dead-letters").step(asked.record).text();
  while (true) {
    auto reply = ask_for(client, {"GET", path, ""});
    if (!reply) return reply.error();
    const std::string status = text_of(reply->value, "status");
    const bool waits = status == "pending" || status == "retrying";
    const bool failed_again = failures_of(reply->value) != asked.failures;
    if (!waits || (status == "pending" && failed_again) || !context.pause) return reply;
    context.pause(between_looks);
  }
}

}  // namespace

int retry_and_wait(Context& context, Client& client, const std::vector<std::string>& ids,
                   const std::string& body) {
  std::vector<Asked> all;
  int worst = exit_error;
  for (const std::string& id : ids) {  // all first: they run side by side
    const std::string path = Address("/v1/dead-letters").step(id).step("retry").text();
    const auto reply = ask_for(client, {"POST", path, body});
    if (reply) {
      all.push_back({id, text_of(reply->value, "id"), failures_of(reply->value)});
      continue;
    }
    worst = refuse(context, reply.error());
    if (reply.error().code == Code::refused || is_retryable(reply.error().code)) break;
  }
  std::size_t worked = 0;
  Rows rows(context, {"id", "status", "worked", "error"});
  for (const Asked& asked : all) {
    const auto reply = outcome_of(context, client, asked);
    if (!reply) {
      worst = refuse(context, reply.error());
      continue;
    }
    const bool well = text_of(reply->value, "status") == "resolved";
    worked += well ? 1 : 0;
    rows.add({asked.said, text_of(reply->value, "status"), well ? "yes" : "no",
              well ? std::string() : text_of(member(reply->value, "failure"), "text")});
  }
  rows.end();
  if (worked == ids.size()) return exit_ok;
  return worked == 0 ? worst : exit_partial;
}

}  // namespace dlo::cli
