#include "dlo/jobs/job.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "dlo/json/fields.h"
#include "dlo/json/writer.h"
#include "dlo/query/query_text.h"

namespace dlo {
namespace {

constexpr std::size_t id_digits = 32;

constexpr std::array<std::string_view, 7> state_names = {
    "planned", "running", "paused", "cancelled", "done", "failed", "stopped"};

void write(JsonWriter& out, const ReplaySpec& spec) {
  out.member("target", spec.target).member("canary", spec.canary);
  out.member("success_percent", std::uint64_t{spec.success_percent});
  out.member("watch_ms", static_cast<std::uint64_t>(spec.watch.count()));
  if (spec.concurrency > 0) out.member("concurrency", spec.concurrency);
  if (spec.most_replays) out.member("most_replays", std::uint64_t{*spec.most_replays});
  out.key("quarantined_too").boolean(spec.quarantined_too);
  if (spec.again) out.key("again").boolean(true);
  out.key("strip").begin_array();
  for (const std::string& name : spec.strip) out.text(name);
  out.end_array().key("set_headers").begin_array();
  for (const Header& header : spec.set_headers) {
    out.begin_object().member("name", header.name).member("value", header.value).end_object();
  }
  out.end_array();
  if (spec.redirects.empty()) return;
  out.key("redirects").begin_array();
  for (const RedirectRule& rule : spec.redirects) {
    out.begin_object().member("from", rule.from);
    if (!rule.type.empty()) out.member("type", rule.type);
    out.member("to", rule.to).end_object();
  }
  out.end_array();
}

ReplaySpec read_replay(JsonFields& fields) {
  ReplaySpec spec;
  spec.target = fields.text("target");
  spec.canary = fields.number("canary");
  spec.success_percent = fields.small("success_percent");
  spec.watch = fields.millis("watch_ms");
  spec.concurrency = fields.number("concurrency");
  if (fields.has("most_replays")) spec.most_replays = fields.small("most_replays");
  spec.quarantined_too = fields.boolean("quarantined_too");
  spec.again = fields.boolean("again");
  for (const JsonValue& name : fields.items("strip")) spec.strip.push_back(name.text());
  for (const JsonValue& item : fields.items("set_headers")) {
    JsonFields header(item, "set_headers", fields.complaints());
    const std::string name = header.text("name");
    spec.set_headers.push_back({name, header.text("value"), HeaderType::text});
  }
  for (const JsonValue& item : fields.items("redirects")) {
    JsonFields rule(item, "redirects", fields.complaints());
    RedirectRule read;
    read.from = rule.text("from");
    read.type = rule.text("type");
    read.to = rule.text("to");
    spec.redirects.push_back(std::move(read));
  }
  return spec;
}

void write_list(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out.key(name).begin_array();
  for (const std::string& text : texts) out.text(text);
  out.end_array();
}

std::vector<std::string> read_list(JsonFields& fields, std::string_view name) {
  std::vector<std::string> texts;
  for (const JsonValue& item : fields.items(name)) texts.push_back(item.text());
  return texts;
}

void write(JsonWriter& out, const JobSpec& spec) {
  out.member("act", act_of(spec)).member("query", spec.query);
  if (spec.from_job) out.member("from_job", *spec.from_job).member("outcome", spec.outcome);
  if (spec.replay) write(out, *spec.replay);
  out.member("order", order_of(spec));
  if (spec.limit) out.member("limit", *spec.limit);
  if (spec.rate) out.member("rate", std::uint64_t{*spec.rate});
  out.member("by", spec.by).member("how", spec.how).member("notes", spec.notes);
  write_list(out, "tags", spec.tags);
  write_list(out, "remove_tags", spec.remove_tags);
  if (!spec.recipe.empty()) out.key("recipe").raw(spec.recipe);
  if (!spec.recipe_name.empty()) out.member("recipe_name", spec.recipe_name);
  if (spec.into) out.member("into", to_string(*spec.into)).member("into_title", spec.into_title);
  if (spec.not_before) out.member("at", *spec.not_before);
}

void read(JsonFields& fields, JobSpec& spec) {
  const auto act = fields.choice("act", job_act_names).value_or(0);
  if (act == replay_act) {
    spec.replay = read_replay(fields);
  } else {
    spec.act = static_cast<Act>(act);
  }
  spec.query = fields.text("query");
  if (fields.has("from_job")) spec.from_job = fields.text("from_job");
  spec.outcome = fields.text("outcome");
  set_order(spec, fields.choice("order", job_order_names).value_or(1));
  if (fields.has("limit")) spec.limit = fields.number("limit");
  if (fields.has("rate")) spec.rate = fields.small("rate");
  spec.by = fields.text("by");
  spec.how = fields.text("how");
  spec.notes = fields.text("notes");
  spec.tags = read_list(fields, "tags");
  spec.remove_tags = read_list(fields, "remove_tags");
  if (const JsonValue* recipe = fields.find("recipe")) spec.recipe = std::string(recipe->raw);
  spec.recipe_name = fields.text("recipe_name");
  if (fields.has("into")) spec.into = parse_id(fields.text("into"));
  spec.into_title = fields.text("into_title");
  spec.not_before = fields.time("at");
}

void write_taken(JsonWriter& out, std::string_view name, const std::vector<Taken>& all) {
  out.key(name).begin_array();
  for (const Taken& each : all) {
    out.begin_object().member("id", to_string(each.id));
    out.member("occurrence", std::uint64_t{each.occurrence});
    out.member("group", to_string(each.group));
    if (each.was != Status::pending) out.member("was", name_of(each.was));
    out.end_object();
  }
  out.end_array();
}

std::vector<Taken> read_taken(JsonFields& fields, std::string_view name) {
  std::vector<Taken> all;
  for (const JsonValue& item : fields.items(name)) {
    JsonFields taken(item, std::string(name), fields.complaints());
    const auto id = parse_id(taken.text("id"));
    if (!id) taken.complain("id", "is not an id");
    all.push_back({RecordId{id.value_or(Id128{})}, taken.small("occurrence"),
                   parse_id(taken.text("group")).value_or(Id128{}),
                   parse_status(taken.text("was")).value_or(Status::pending)});
  }
  return all;
}

/// Thousands are written at a time, and read by whoever asks how far a job is: one text, in which
/// each says only what is not as it was of the one before it.
std::string packed(const std::vector<Taken>& all) {
  std::string text;
  text.reserve(all.size() * 33 + 64);
  const Taken* last = nullptr;
  for (const Taken& each : all) {
    if (last != nullptr) text += ',';
    text += to_string(each.id);
    const bool alike = last != nullptr && last->occurrence == each.occurrence &&
                       last->group == each.group && last->was == each.was;
    if (!alike) {
      text += ' ' + std::to_string(each.occurrence) + ' ' + to_string(each.group) + ' ';
      text += name_of(each.was);
    }
    last = &each;
  }
  return text;
}

/// Nothing if it is not what `packed` writes.
std::optional<std::vector<Taken>> unpacked(std::string_view text) {
  std::vector<Taken> all;
  Taken taken;
  while (!text.empty()) {
    const std::string_view each = text.substr(0, text.find(','));
    text.remove_prefix(std::min(each.size() + 1, text.size()));
    const auto id = parse_id(each.substr(0, id_digits));
    if (!id) return std::nullopt;
    taken.id = RecordId{*id};
    if (each.size() > id_digits) {
      const char* const end = each.data() + each.size();
      const auto number = std::from_chars(each.data() + id_digits + 1, end, taken.occurrence);
      const std::string_view rest(number.ptr, end);
      const auto group = parse_id(rest.substr(std::min<std::size_t>(1, rest.size()), id_digits));
      if (number.ec != std::errc() || !group) return std::nullopt;
      const auto was = parse_status(rest.substr(std::min(id_digits + 2, rest.size())));
      if (!was) return std::nullopt;
      taken.group = *group;
      taken.was = *was;
    } else if (all.empty()) {
      return std::nullopt;
    }
    all.push_back(taken);
  }
  return all;
}

std::vector<Taken> read_sending(JsonFields& fields) {
  if (!fields.has("taken")) return read_taken(fields, "sending");  // of an older version
  auto all = unpacked(fields.text("taken"));
  if (!all) fields.complain("taken", "is not a list of what was taken");
  return std::move(all).value_or(std::vector<Taken>());
}

void write_place(JsonWriter& out, const std::string& name, const JobPlace& place) {
  if (place.record) out.member(name, to_string(*place.record));
  if (!place.item.empty()) out.member(name + "_item", place.item);
}

JobPlace read_place(JsonFields& fields, const std::string& name) {
  JobPlace place;
  if (fields.has(name)) {
    place.record = parse_cursor(fields.text(name));
    if (!place.record) fields.complain(name, "is not a cursor");
  }
  place.item = fields.text(name + "_item");
  return place;
}

}  // namespace

std::string_view act_of(const JobSpec& spec) noexcept {
  return spec.replay ? job_act_names[replay_act] : name_of(spec.act);
}

std::string_view order_of(const JobSpec& spec) noexcept {
  return job_order_names[spec.by_key ? 2 : spec.order == Order::oldest_first ? 1 : 0];
}

void set_order(JobSpec& spec, std::size_t order) noexcept {
  spec.order = order == 0 ? Order::newest_first : Order::oldest_first;
  spec.by_key = order == 2;
}

std::string_view name_of(JobState state) noexcept {
  return state_names[static_cast<std::size_t>(state)];
}

std::optional<JobState> parse_job_state(std::string_view text) noexcept {
  for (std::size_t i = 0; i < state_names.size(); ++i) {
    if (state_names[i] == text) return static_cast<JobState>(i);
  }
  return std::nullopt;
}

void write_members(JsonWriter& out, const Job& job) {
  out.member("id", job.id).member("state", name_of(job.state));
  write(out, job.spec);
  out.member("frozen_at", job.frozen_at).member("created_at", job.created_at);
  out.member("created_by", job.created_by).member("started_at", job.started_at);
  out.member("ended_at", job.ended_at).member("problem", job.problem);
}

std::string to_json(const Job& job) {
  JsonWriter out;
  out.begin_object();
  write_members(out, job);
  out.end_object();
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

void write_returned(JsonWriter& out, const JobProgress& progress) {
  if (progress.returned_to.empty()) return;
  out.key("returned_to").begin_array();
  for (const ReturnedTo& each : progress.returned_to) {
    out.begin_object().member("group", to_string(each.group)).member("count", each.count);
    out.key("same").boolean(each.same).end_object();
  }
  out.end_array();
}

void write_unreachable(JsonWriter& out, const JobProgress& progress) {
  if (progress.unreachable.empty()) return;
  out.key("unreachable").begin_array();
  for (const Unreachable& each : progress.unreachable) {
    out.begin_object().member("target", each.target).member("reason", each.reason);
    out.member("count", each.count).end_object();
  }
  out.end_array();
}

std::string to_json(const JobProgress& progress) {
  JsonWriter out;
  out.begin_object();
  write_place(out, "after", progress.after);
  write_place(out, "frozen", progress.frozen);
  if (progress.freezing) out.key("freezing").boolean(true);
  if (progress.planned > 0) out.member("planned", progress.planned);
  if (!progress.accounted_up_to.empty()) out.member("accounted_up_to", progress.accounted_up_to);
  if (progress.accounted) out.key("accounted").boolean(true);
  const JobCounts& counts = progress.counts;
  out.member("ok", counts.ok).member("changed", counts.changed).member("refused", counts.refused);
  out.member("looped", counts.looped).member("verified", counts.verified);
  out.member("presumed", counts.presumed).member("returned", counts.returned);
  out.member("behind", counts.behind).member("taken_over", counts.taken_over);
  out.key("listed").boolean(progress.listed);
  if (!progress.sending.empty()) out.member("taken", packed(progress.sending));
  if (!progress.awaiting.empty()) write_taken(out, "awaiting", progress.awaiting);
  if (progress.last_sent) out.member("last_sent", *progress.last_sent);
  if (progress.seen_change > 0) out.member("seen_change", progress.seen_change);
  if (progress.presumed) out.key("presumed_all").boolean(true);
  if (progress.presumed_up_to) out.member("presumed_up_to", to_string(*progress.presumed_up_to));
  if (!progress.settled_up_to.empty()) out.member("settled_up_to", progress.settled_up_to);
  write_returned(out, progress);
  write_list(out, "held", progress.held);
  write_unreachable(out, progress);
  if (!progress.blocked.empty()) out.member("blocked", progress.blocked);
  out.end_object();
  return out.take();
}

Result<JobProgress> parse_job_progress(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return value.error();
  JsonComplaints complaints("jobs.progress");
  JobProgress progress;
  {
    JsonFields fields(*value, "", complaints);
    progress.after = read_place(fields, "after");
    progress.frozen = read_place(fields, "frozen");
    progress.freezing = fields.boolean("freezing");
    progress.planned = fields.number("planned");
    progress.accounted_up_to = fields.text("accounted_up_to");
    progress.accounted = fields.boolean("accounted");
    JobCounts& counts = progress.counts;
    counts.ok = fields.number("ok");
    counts.changed = fields.number("changed");
    counts.refused = fields.number("refused");
    counts.looped = fields.number("looped");
    counts.verified = fields.number("verified");
    counts.presumed = fields.number("presumed");
    counts.returned = fields.number("returned");
    counts.behind = fields.number("behind");
    counts.taken_over = fields.number("taken_over");
    progress.listed = fields.boolean("listed");
    progress.sending = read_sending(fields);
    progress.awaiting = read_taken(fields, "awaiting");
    for (const JsonValue& item : fields.items("returned_to")) {
      JsonFields to(item, "returned_to", complaints);
      progress.returned_to.push_back(
          {parse_id(to.text("group")).value_or(Id128{}), to.number("count"), to.boolean("same")});
    }
    progress.held = read_list(fields, "held");
    progress.blocked = fields.text("blocked");
    for (const JsonValue& item : fields.items("unreachable")) {
      JsonFields to(item, "unreachable", complaints);
      Unreachable each;
      each.target = to.text("target");
      each.reason = to.text("reason");
      each.count = to.number("count");
      progress.unreachable.push_back(std::move(each));
    }
    progress.last_sent = fields.time("last_sent");
    progress.seen_change = fields.number("seen_change");
    progress.presumed = fields.boolean("presumed_all");
    progress.presumed_up_to = read_place(fields, "presumed_up_to").record;
    progress.settled_up_to = fields.text("settled_up_to");
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
