#include "dlo/jobs/job.h"

#include <array>

#include "dlo/json/fields.h"
#include "dlo/json/writer.h"
#include "dlo/query/query_text.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 6> state_names = {"planned",   "running", "paused",
                                                         "cancelled", "done",    "failed"};
constexpr std::array<std::string_view, 4> act_names = {"resolve", "archive", "discard", "restore"};
constexpr std::array<std::string_view, 2> order_names = {"newest", "oldest"};

void write(JsonWriter& out, const JobSpec& spec) {
  out.member("act", name_of(spec.act)).member("query", spec.query);
  out.member("order", order_names[spec.order == Order::oldest_first ? 1 : 0]);
  if (spec.limit) out.member("limit", *spec.limit);
  if (spec.rate) out.member("rate", std::uint64_t{*spec.rate});
  out.member("by", spec.by).member("how", spec.how).member("notes", spec.notes);
}

void read(JsonFields& fields, JobSpec& spec) {
  spec.act = static_cast<Act>(fields.choice("act", act_names).value_or(0));
  spec.query = fields.text("query");
  const bool newest = fields.choice("order", order_names).value_or(1) == 0;
  spec.order = newest ? Order::newest_first : Order::oldest_first;
  if (fields.has("limit")) spec.limit = fields.number("limit");
  if (fields.has("rate")) spec.rate = fields.small("rate");
  spec.by = fields.text("by");
  spec.how = fields.text("how");
  spec.notes = fields.text("notes");
}

}  // namespace

std::string_view name_of(JobState state) noexcept {
  return state_names[static_cast<std::size_t>(state)];
}

std::optional<JobState> parse_job_state(std::string_view text) noexcept {
  for (std::size_t i = 0; i < state_names.size(); ++i) {
    if (state_names[i] == text) return static_cast<JobState>(i);
  }
  return std::nullopt;
}

std::string to_json(const Job& job) {
  JsonWriter out;
  out.begin_object().member("id", job.id).member("state", name_of(job.state));
  write(out, job.spec);
  out.member("frozen_at", job.frozen_at).member("created_at", job.created_at);
  out.member("created_by", job.created_by).member("started_at", job.started_at);
  out.member("ended_at", job.ended_at).member("problem", job.problem).end_object();
  return out.take();
}

Result<Job> parse_job(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return value.error();
  JsonComplaints complaints("jobs.job");
  Job job;
  {
    JsonFields fields(*value, "", complaints);
    for (const auto* name : {"id", "state", "act", "frozen_at"}) fields.require(name);
    job.id = fields.text("id");
    job.state = static_cast<JobState>(fields.choice("state", state_names).value_or(0));
    read(fields, job.spec);
    job.frozen_at = fields.number("frozen_at");
    job.created_at = fields.time("created_at").value_or(TimePoint{});
    job.created_by = fields.text("created_by");
    job.started_at = fields.time("started_at");
    job.ended_at = fields.time("ended_at");
    job.problem = fields.text("problem");
  }
  if (complaints.first()) return *complaints.first();
  return job;
}

std::string to_json(const JobProgress& progress) {
  JsonWriter out;
  out.begin_object();
  if (progress.after) out.member("after", to_string(*progress.after));
  out.member("ok", progress.counts.ok).member("changed", progress.counts.changed);
  out.member("refused", progress.counts.refused).end_object();
  return out.take();
}

Result<JobProgress> parse_job_progress(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return value.error();
  JsonComplaints complaints("jobs.progress");
  JobProgress progress;
  {
    JsonFields fields(*value, "", complaints);
    if (fields.has("after")) {
      progress.after = parse_cursor(fields.text("after"));
      if (!progress.after) fields.complain("after", "is not a cursor");
    }
    progress.counts.ok = fields.number("ok");
    progress.counts.changed = fields.number("changed");
    progress.counts.refused = fields.number("refused");
  }
  if (complaints.first()) return *complaints.first();
  return progress;
}

Result<Query> query_of(const Job& job) {
  auto query = parse_query(job.spec.query, job.created_at);
  if (!query) return query.error();
  query->order = job.spec.order;
  query->changed_up_to = job.frozen_at;
  return query;
}

}  // namespace dlo
