#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/jobs/job.h"
#include "dlo/store/office.h"

namespace dlo {

/// What people do to a job.
enum class JobVerb : std::uint8_t { start, pause, resume, cancel };
[[nodiscard]] std::string_view name_of(JobVerb verb) noexcept;
/// Where it leads from `state`; nothing if it cannot be done there.
[[nodiscard]] std::optional<JobState> after_verb(JobState state, JobVerb verb) noexcept;

/// What a job would do, without doing it.
struct JobPreview {
  std::uint64_t count = 0;
  bool at_least = false;           // there are `count` or more: counting stopped
  std::vector<RecordHead> sample;  // the first five
  std::vector<std::pair<std::string, std::uint64_t>>
      reasons;                                 // of those counted, the most frequent
  std::map<Direction, std::uint64_t> targets;  // of a replay: how many of these go where
  std::map<std::string, std::uint64_t> strip;  // ... headers that stay: how many of the sample
                                               // have them
  std::vector<std::string> set_headers;        // ... and those that are set
  std::uint64_t keys = 0;                      // ... of those counted, different keys
  std::uint64_t followers = 0;                 // ... that have one of their key before them
  std::vector<std::pair<std::string, std::uint64_t>> longest;  // ... keys with most followers
  std::optional<Millis> takes;                                 // at the rate asked for
};

/// Which jobs. Empty fields do not filter; filled ones must all hold.
struct JobFilter {
  std::vector<JobState> states;
  std::vector<std::string> acts;  // as `act_of` calls them
  std::string before;             // the id a page before ended with: those planned earlier
  std::size_t limit = 50;
};
struct JobPage {
  std::vector<Job> jobs;
  std::string next;  // there may be more, planned before this one
};

/// The jobs of an office: documents, each change of which is audited in the same write.
/// Threads  Any method from any thread; two who change a job at once are told apart by its version.
class JobBook {
 public:
  explicit JobBook(Office& office) : office_(office) {}

  /// Freezes the set as it is now. Refuses what cannot be carried out.
  Result<Job> plan(JobSpec spec, const std::string& id, const std::string& actor, TimePoint now);
  /// The same, kept nowhere: to be looked at (a dry run).
  Result<Job> draw_up(JobSpec spec, const std::string& id, const std::string& actor, TimePoint now);
  /// Keeps what was drawn up, begun at once if `start`, together with `also`: all or nothing.
  Result<Job> keep(Job job, bool start, std::vector<Change> also);
  Result<JobPreview> preview(const Job& job);
  Result<Job> change(const std::string& id, JobVerb verb, const std::string& actor, TimePoint now);
  /// By the runner: done or failed.
  Result<Job> end(const std::string& id, JobState how, const std::string& problem, TimePoint now);

  /// Replays that ended while something of theirs was still under way, until `wound_up`.
  Result<std::vector<std::string>> to_wind_up();
  Result<void> wound_up(const std::string& id);

  Result<Job> get(const std::string& id);
  /// Newest first. A filter that passes over very many answers what it found, with `next`.
  Result<JobPage> list(const JobFilter& filter);
  /// Those that somebody works on, or will: oldest first, whatever else there is.
  Result<std::vector<Job>> running();
  Result<JobProgress> progress(const std::string& id);
  /// Outcomes in order of record ids, strictly after `after`: key and outcome.
  Result<std::vector<Document>> items(const std::string& id, const std::string& after,
                                      std::size_t limit);

 private:
  /// Jobs of an older version are not listed before they are in the index.
  Result<void> check_index();
  /// What a job did is known when it has ended.
  Result<void> check_former(const JobSpec& spec);
  Result<Job> put(Job job, const std::string& act, const std::string& actor, TimePoint now);

  Office& office_;
};

/// What it is once it was started at the moment it was planned.
[[nodiscard]] Job begun(Job job);

/// Sorts by time, and is another for every draw.
[[nodiscard]] std::string job_id(TimePoint now, std::uint32_t draw);

}  // namespace dlo
