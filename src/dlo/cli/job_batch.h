#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dlo/cli/job_run.h"

namespace dlo::cli {

/// So many ids one job takes by name.
inline constexpr std::size_t ids_of_a_job = 1'000;

/// The body of the job on some of the ids.
using BodyOf = std::function<Result<std::string>(const std::vector<std::string>& ids)>;

/// One job on these ids, or as many as that takes: one plan, one question, one answer. Where the
/// outcome of the first decides about the next (`in_turn`: a canary, an order by key) each begins
/// when the one before it is done, and the rest is cancelled if it is not.
int run_jobs(Context& context, Client& client, const std::vector<std::string>& ids,
             const BodyOf& body_of, const JobWill& will, bool in_turn);

}  // namespace dlo::cli
