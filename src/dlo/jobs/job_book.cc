#include "dlo/jobs/job_book.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "dlo/core/spelling.h"
#include "dlo/jobs/batch.h"
#include "dlo/jobs/job_freeze.h"
#include "dlo/jobs/job_index.h"
#include "dlo/jobs/job_trail.h"
#include "dlo/json/writer.h"
#include "dlo/query/query_text.h"
#include "dlo/repair/recipe.h"

namespace dlo {
namespace {

constexpr std::size_t documents_page = 500;
constexpr std::size_t listed_page = 100;
constexpr std::size_t most_passed_over = 5'000;  // by one list
constexpr std::uint64_t most_at_once = 1'000;    // their ids are in every checkpoint
constexpr int most_tries = 8;
constexpr std::array<std::string_view, 4> verb_names = {"start", "pause", "resume", "cancel"};

Error no_job(const std::string& id) {
  return {Code::not_found, "jobs.get", "There is no job " + in_quotes(id) + "."};
}

Result<void> check(const JobSpec& spec) {
  if (spec.rate && *spec.rate == 0) {
    return Error{Code::invalid_argument, "jobs.plan",
                 "rate must be at least 1 a second; leave it out for no limit"};
  }
  if (spec.limit && *spec.limit == 0) {
    return Error{Code::invalid_argument, "jobs.plan",
                 "limit must be at least 1; leave it out to take everything that matches"};
  }
  if (!spec.replay && spec.act == Act::tag && spec.tags.empty() && spec.remove_tags.empty()) {
    return Error{Code::invalid_argument, "jobs.plan", "tags or remove_tags must say what changes"};
  }
  if (spec.by_key && !spec.replay) {
    return Error{
        Code::invalid_argument, "jobs.plan",
        "order \"key\" is for replays: only what is sent can overtake. Say oldest or newest"};
  }
  if (spec.replay && spec.replay->concurrency > most_at_once) {
    return Error{Code::invalid_argument, "jobs.plan",
                 "concurrency must be at most " + std::to_string(most_at_once) +
                     "; leave it out for no limit"};
  }
  if (!spec.replay && spec.act == Act::regroup && !spec.into) {
    return Error{Code::invalid_argument, "jobs.plan",
                 "dead letters change their group by POST /v1/groups/{id}/split and merge"};
  }
  const bool repairs = !spec.replay && spec.act == Act::repair;
  if (repairs && spec.recipe.empty()) {
    return Error{Code::invalid_argument, "jobs.plan", "a repair needs a recipe"};
  }
  if (spec.recipe.empty()) return {};
  const auto recipe = parse_recipe(spec.recipe);
  return recipe ? Result<void>{} : recipe.error();
}

/// Whether an entry of the index is among those that are asked for.
bool is_wanted(const JobFilter& filter, std::string_view entry) {
  const auto among = [](const auto& all, std::string_view one, const auto& name) {
    return all.empty() ||
           std::any_of(all.begin(), all.end(), [&](const auto& each) { return name(each) == one; });
  };
  const std::size_t space = std::min(entry.find(' '), entry.size());
  const std::string_view act = entry.substr(std::min(space + 1, entry.size()));
  return among(filter.states, entry.substr(0, space),
               [](JobState state) { return name_of(state); }) &&
         among(filter.acts, act, [](const std::string& name) { return std::string_view(name); });
}

void write_replay(JsonWriter& json, const ReplaySpec& spec) {
  json.member("target", spec.target);
  if (spec.again) json.key("again").boolean(true);
  if (spec.set_headers.empty()) return;
  json.key("set_headers").begin_array();
  for (const Header& header : spec.set_headers) {
    json.begin_object().member("name", header.name).member("value", header.value).end_object();
  }
  json.end_array();
}

std::string described(const Job& whole) {
  const Job job = for_trail(whole);
  JsonWriter detail;
  detail.begin_object().member("act", act_of(job.spec)).member("query", job.spec.query);
  if (job.spec.from_job) {
    detail.member("from_job", *job.spec.from_job).member("outcome", job.spec.outcome);
  }
  detail.member("state", name_of(job.state)).member("problem", job.problem);
  if (job.spec.replay) write_replay(detail, *job.spec.replay);
  write_texts(detail, "tags", job.spec.tags);
  write_texts(detail, "remove_tags", job.spec.remove_tags);
  if (!job.spec.recipe.empty()) detail.key("recipe").raw(job.spec.recipe);
  detail.member("frozen_at", job.frozen_at).end_object();
  return detail.take();
}

}  // namespace

std::string_view name_of(JobVerb verb) noexcept {
  return verb_names[static_cast<std::size_t>(verb)];
}

std::optional<JobState> after_verb(JobState state, JobVerb verb) noexcept {
  const bool begun = state == JobState::running || state == JobState::paused;
  switch (verb) {
    case JobVerb::start:
      return state == JobState::planned ? std::optional(JobState::running) : std::nullopt;
    case JobVerb::pause:
      return state == JobState::running ? std::optional(JobState::paused) : std::nullopt;
    case JobVerb::resume:
      return state == JobState::paused ? std::optional(JobState::running) : std::nullopt;
    case JobVerb::cancel:
      break;
  }
  return begun || state == JobState::planned ? std::optional(JobState::cancelled) : std::nullopt;
}

Job begun(Job job) {
  job.state = JobState::running;
  job.started_at = job.created_at;
  return job;
}

std::string job_id(TimePoint now, std::uint32_t draw) {
  char text[32];
  std::snprintf(text, sizeof text, "%011llx%05x",
                static_cast<unsigned long long>(now.time_since_epoch().count()),
                static_cast<unsigned>(draw & 0xFFFFFU));
  return text;
}

Result<Job> JobBook::put(Job job, const std::string& act, const std::string& actor, TimePoint now) {
  std::vector<Change> changes = {
      PutDocument{job_kind, job.id, to_json(job), job.version},
      AddAudit{now, actor, "job." + act, "job " + job.id, described(job)}};
  add_index(job, changes);
  if (job.spec.replay && job.ended_at && job.state != JobState::done) {
    changes.emplace_back(PutDocument{wind_up_kind, job.id, "{}", std::nullopt});
  }
  const auto applied = office_.apply(changes);
  if (!applied) return applied.error();
  job.version = applied->front().version;
  return job;
}

Result<void> JobBook::check_former(const JobSpec& spec) {
  if (!spec.from_job) return {};
  const auto former = get(*spec.from_job);
  if (!former) return former.error();
  if (former->ended_at) return {};
  return Error{Code::conflict, "jobs.plan",
               "Job " + former->id + " is " + std::string(name_of(former->state)) +
                   ": what becomes of its items is not known yet. Wait for its end, or cancel it."};
}

Result<Job> JobBook::draw_up(JobSpec spec, const std::string& id, const std::string& actor,
                             TimePoint now) {
  if (const auto fine = check(spec); !fine) return fine.error();
  if (const auto over = check_former(spec); !over) return over.error();
  const auto query = parse_query(spec.query, now);
  if (!query) return query.error();
  spec.query = print_query(*query);  // "2d old" means the same when the job goes on tomorrow
  AggregateRequest nothing;
  nothing.tallies = false;
  const auto numbers = office_.aggregate(nothing);
  if (!numbers) return numbers.error();
  Job job;
  job.id = id;
  job.spec = std::move(spec);
  job.frozen_at = numbers->last_change;
  job.created_at = now;
  job.created_by = actor;
  return job;
}

Result<Job> JobBook::plan(JobSpec spec, const std::string& id, const std::string& actor,
                          TimePoint now) {
  auto job = draw_up(std::move(spec), id, actor, now);
  if (!job) return job;
  return keep(std::move(*job), false, {});
}

Result<Job> JobBook::keep(Job job, bool start, std::vector<Change> also) {
  if (auto ready = adopt_older_jobs(office_); !ready) return ready.error();
  auto set = freeze(office_, job);
  if (!set) return set.error();
  const auto audit_of = [&job](const char* act) {
    return AddAudit{job.created_at, job.created_by, act, "job " + job.id, described(job)};
  };
  std::vector<Change> audit{audit_of("job.plan")};
  if (start) {
    job = begun(std::move(job));
    audit.emplace_back(audit_of("job.start"));
  }
  std::vector<Change> changes{PutDocument{job_kind, job.id, to_json(job), job.version}};
  add_index(job, changes);
  changes.emplace_back(std::move(*set));
  for (Change& each : audit) changes.push_back(std::move(each));
  for (Change& each : also) changes.push_back(std::move(each));
  const auto applied = office_.apply(changes);
  if (!applied) return applied.error();
  job.version = applied->front().version;
  return job;
}

Result<Job> JobBook::change(const std::string& id, JobVerb verb, const std::string& actor,
                            TimePoint now) {
  for (int left = most_tries; true; --left) {
    auto job = get(id);
    if (!job) return job;
    const auto state = after_verb(job->state, verb);
    if (!state) {
      return Error{Code::conflict, "jobs.change",
                   "Job " + id + " is " + std::string(name_of(job->state)) + " and cannot " +
                       std::string(name_of(verb)) + "; nothing was changed."};
    }
    job->state = *state;
    if (verb == JobVerb::start) job->started_at = now;
    if (verb == JobVerb::cancel) job->ended_at = now;
    auto changed = put(std::move(*job), std::string(name_of(verb)), actor, now);
    // The runner may have ended it since the look: then what is possible is asked anew.
    const bool overtaken = !changed && changed.error().code == Code::conflict;
    if (!overtaken || left == 1) return changed;
  }
}

Result<Job> JobBook::end(const std::string& id, JobState how, const std::string& problem,
                         TimePoint now) {
  auto job = get(id);
  if (!job || job->state != JobState::running) return job;  // a person was quicker
  job->state = how;
  job->problem = problem;
  job->ended_at = now;
  return put(std::move(*job), std::string(name_of(how)), "job " + id, now);
}

Result<Job> JobBook::get(const std::string& id) {
  const auto found = office_.extras().ledger->document(job_kind, id);
  if (!found) return found.error();
  if (!*found) return no_job(id);
  auto job = parse_job((*found)->body);
  if (job) job->version = (*found)->version;
  return job;
}

Result<void> JobBook::check_index() {
  const auto adopted = adopt_older_jobs(office_);
  if (adopted || adopted.error().code != Code::refused) return adopted;
  // Nothing can be written here. Without jobs there is nothing that would have to be.
  const auto any = office_.extras().ledger->documents(job_kind, "", 1);
  if (!any) return any.error();
  if (any->empty()) return {};
  return Error{Code::refused, "jobs.list",
               "The jobs of this office were written by an older version and have to be put in "
               "order once: open it for writing, as `dlo serve` does."};
}

Result<JobPage> JobBook::list(const JobFilter& filter) {
  if (auto ready = check_index(); !ready) return ready.error();
  JobPage page;
  std::string after = filter.before.empty() ? std::string() : newest_key(filter.before);
  for (std::size_t seen = 0; seen < most_passed_over;) {
    const auto read = office_.extras().ledger->documents(newest_kind, after, listed_page);
    if (!read) return read.error();
    for (const Document& each : *read) {
      if (!is_wanted(filter, each.body)) continue;
      if (page.jobs.size() == filter.limit) {  // one more than was asked for: there is a next page
        page.next = page.jobs.back().id;
        return page;
      }
      auto job = get(id_of_newest(each.key));
      if (!job && job.error().code == Code::not_found) continue;  // removed just now
      if (!job) return job.error();
      page.jobs.push_back(std::move(*job));
    }
    if (read->size() < listed_page) return page;
    after = read->back().key;
    seen += read->size();
  }
  page.next = id_of_newest(after);
  return page;
}

Result<std::vector<Job>> JobBook::running() {
  std::vector<Job> all;
  std::string after;
  while (true) {
    const auto read = office_.extras().ledger->documents(running_kind, after, documents_page);
    if (!read) return read.error();
    for (const Document& each : *read) {
      auto job = get(each.key);
      if (!job && job.error().code != Code::not_found) return job.error();
      if (job && job->state == JobState::running) {
        all.push_back(std::move(*job));
        continue;
      }
      // Left by whoever brought an older office up to date while a person changed this one.
      const Change stale = PutDocument{running_kind, each.key, std::nullopt, each.version};
      (void)office_.apply({&stale, 1});
    }
    if (read->size() < documents_page) return all;
    after = read->back().key;
  }
}

Result<std::vector<std::string>> JobBook::to_wind_up() {
  std::vector<std::string> ids;
  std::string after;
  while (true) {
    const auto read = office_.extras().ledger->documents(wind_up_kind, after, documents_page);
    if (!read) return read.error();
    for (const Document& each : *read) ids.push_back(each.key);
    if (read->size() < documents_page) return ids;
    after = read->back().key;
  }
}

Result<void> JobBook::wound_up(const std::string& id) {
  const Change gone = PutDocument{wind_up_kind, id, std::nullopt, std::nullopt};
  const auto applied = office_.apply({&gone, 1});
  return applied ? Result<void>{} : applied.error();
}

Result<JobProgress> JobBook::progress(const std::string& id) {
  const auto found = office_.extras().ledger->document(std::string(job_cursor_kind), id);
  if (!found) return found.error();
  if (!*found) return JobProgress{};
  return parse_job_progress((*found)->body);
}

Result<std::vector<Document>> JobBook::items(const std::string& id, const std::string& after,
                                             std::size_t limit) {
  return office_.extras().ledger->documents(job_item_kind(id), after, limit);
}

}  // namespace dlo
