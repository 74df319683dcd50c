#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "dlo/cli/client.h"
#include "dlo/cli/context.h"

namespace dlo::cli {

/// How far a bulk act goes by itself.
struct JobWill {
  bool yes = false;         // nobody is asked
  bool dry_run = false;     // only the plan
  bool wait = false;        // until it is over; always where no server does it
  bool silent = false;      // nothing on the output: whoever runs it answers something else
  std::uint64_t named = 0;  // ids that were said: of fewer it is told that the others are unknown
};

/// Says yes to `question`, or that --yes is missing where nobody can be asked.
[[nodiscard]] bool confirmed(Context& context, bool yes, const std::string& question);

/// Says so, and is true, if some of the ids that were named are no dead letters here.
bool some_are_unknown(Context& context, std::uint64_t named, std::uint64_t found);

/// Plans the job that `body` describes (POST /v1/jobs), shows what it would do, asks, starts it
/// and, if wanted, watches it to its end. `what` names it in questions: "replay 12 dead letters …".
int run_job(Context& context, Client& client, const std::string& body, const JobWill& will);

/// Follows a job until it is over, with a bar on a terminal.
int watch_job(Context& context, Client& client, const std::string& id, bool silent = false);

/// An answer about a job, as the format asks; `people` says it in words.
void print_job_answer(Context& context, const Reply& reply, const std::function<void()>& people);

/// How many a job is about, by the `progress` of an answer. Empty as long as its set is not written
/// down to the end, and of jobs that were planned by an older version.
[[nodiscard]] std::optional<std::uint64_t> size_of_job(const JsonValue& progress);
/// "12/500"; "0/>=10000" while nobody knows how many they are.
[[nodiscard]] std::string extent_of_job(const JsonValue& progress);

/// "2m 5s".
[[nodiscard]] std::string duration_text(Millis length);

}  // namespace dlo::cli
