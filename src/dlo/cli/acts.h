#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dlo/cli/job_run.h"
#include "dlo/cli/selection.h"
#include "dlo/cli/watch.h"
#include "dlo/json/writer.h"

namespace dlo::cli {

/// What many dead letters are chosen by, and what is said with an act on them.
struct BulkArguments {
  std::vector<std::string> ids;  // `-`: those on standard input
  Selection selection;
  bool newest_first = false;
  std::uint64_t limit = 0;  // 0: all
  std::uint64_t rate = 0;   // a second; 0: as fast as it goes
  std::string by;
  std::string how;
  std::string notes;
  JobWill will;
};

/// Those that were said, and those on standard input. Refused beside a query.
[[nodiscard]] Result<std::vector<std::string>> ids_of(Context& context,
                                                      const BulkArguments& arguments);
/// Ids were to come, and none did: which is not everything.
int nothing_came(Context& context);

using JobExtras = std::function<void(JsonWriter&)>;
/// The body of POST /v1/jobs. Refused unless either ids or a query say what it is about.
[[nodiscard]] Result<std::string> job_body(const std::string& act, const BulkArguments& arguments,
                                           const std::vector<std::string>& ids,
                                           const JobExtras& extras);

/// The job or jobs that do `act` to these ids, or to what the selection says.
int run_bulk(Context& context, const std::string& act, const BulkArguments& arguments,
             std::vector<std::string> ids, const JobExtras& extras = {}, bool in_turn = false);

/// resolve, archive, discard, restore, quarantine or retry: one id at once, all else as a job.
int act(Context& context, const std::string& act, const BulkArguments& arguments);

struct NoteArguments {
  std::string id;
  std::string text;
  std::string by;
};
int note(Context& context, const NoteArguments& arguments);

struct TagArguments {
  std::string id;  // empty: what the selection of `bulk` says, as a job; `-`: those that come in
  std::vector<std::string> add;
  std::vector<std::string> remove;
  BulkArguments bulk;
};
int tag(Context& context, const TagArguments& arguments);

struct ReplayArguments {
  BulkArguments bulk;
  std::string to;
  std::uint64_t canary = 0;
  std::string stop_if_fail;  // of a canary; empty: 5%
  std::string watch;
  std::uint64_t max_replays = 0;
  bool quarantined_too = false;
  bool again = false;
  std::vector<std::string> strip;
  std::vector<std::string> set_headers;  // NAME=VALUE
  std::string recipe;                    // its name
  std::string patch;                     // or a file with its steps
  std::string at;                        // a moment, or a duration from now
  std::uint64_t concurrency = 0;         // 0: any number
  std::string order;                     // oldest, newest or key
};
int replay(Context& context, const ReplayArguments& arguments);

struct JobArguments {
  std::string id;
  std::string outcome;
};
struct JobListArguments {
  std::vector<std::string> states;
  std::vector<std::string> acts;
  std::uint64_t limit = 50;
  std::string cursor;
  WatchArguments watch;
};
int job_list(Context& context, const JobListArguments& arguments);
int job_show(Context& context, const JobArguments& arguments);
int job_items(Context& context, const JobArguments& arguments);
int job_watch(Context& context, const JobArguments& arguments);
/// start, pause, resume or cancel.
int job_change(Context& context, const JobArguments& arguments, const std::string& verb,
               const JobWill& will);

/// A new job, or several, on what an earlier one could not do.
int job_retry_failed(Context& context, const JobArguments& arguments, const JobWill& will);

struct GroupPartsArguments {
  std::string id;
  std::vector<std::string> others;  // groups, or fingerprints inside
  std::string by;                   // FACET=VALUE
  bool days = false;
  JobWill will;
};
int group_merge(Context& context, const GroupPartsArguments& arguments);
int group_unmerge(Context& context, const GroupPartsArguments& arguments);
int group_split(Context& context, const GroupPartsArguments& arguments);
int group_facets(Context& context, const GroupPartsArguments& arguments);
int group_trend(Context& context, const GroupPartsArguments& arguments);

struct GroupArguments {
  std::string id;
  std::string order = "open";
  std::uint64_t limit = 50;
  std::string owner;
  std::vector<std::string> statuses;  // of a list
  std::string tag;
  std::string cursor;
  std::string length;  // of a snooze
  std::string text;
  BulkArguments bulk;
  WatchArguments watch;
};
int group_list(Context& context, const GroupArguments& arguments);
int group_show(Context& context, const GroupArguments& arguments);
/// Resolves what is open of it, then the group itself.
int group_resolve(Context& context, const GroupArguments& arguments);
int group_status(Context& context, const GroupArguments& arguments, const std::string& status);
int group_assign(Context& context, const GroupArguments& arguments);
int group_ticket(Context& context, const GroupArguments& arguments);
int group_note(Context& context, const GroupArguments& arguments);

}  // namespace dlo::cli
