#include "dlo/api/jobs.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/body.h"
#include "dlo/api/curtain.h"
#include "dlo/api/idempotency.h"
#include "dlo/api/job_answers.h"
#include "dlo/core/acts.h"
#include "dlo/core/duration.h"
#include "dlo/core/header_class.h"
#include "dlo/core/spelling.h"
#include "dlo/jobs/job_set.h"
#include "dlo/jobs/recipe_book.h"
#include "dlo/json/json.h"
#include "dlo/json/parts.h"
#include "dlo/json/writer.h"
#include "dlo/query/query_text.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_ids = 1'000;
constexpr std::size_t most_items = 1'000;
constexpr std::uint32_t usual_success = 95;

/// What a POST asks for.
struct Wanted {
  JobSpec spec;
  bool start = false;
  bool dry_run = false;
  std::optional<std::uint64_t> expect{};  // how many the caller believes there are
};

std::string query_for_ids(JsonFields& fields) {
  std::string query = "id:";
  const auto items = fields.items("ids");
  if (items.empty() || items.size() > most_ids) {
    fields.complain("ids", "must hold 1 to 1000 ids; for more, use a query");
  }
  for (const JsonValue& item : items) {
    const std::string id = item.text();
    if (!parse_id(id)) fields.complain("ids", "must hold ids of 32 hex digits");
    query += (query.size() > 3 ? "," : "") + id;
  }
  return query;
}

/// {"from_job": "1a1e…", "outcome": "failed"}
void read_from_job(JsonFields& fields, JobSpec& spec) {
  spec.from_job = fields.text("from_job");
  const auto& outcomes = selectable_outcomes();
  spec.outcome = outcomes[fields.choice("outcome", outcomes).value_or(0)];
}

void read_selection(JsonFields& fields, JobSpec& spec) {
  const int given = int{fields.has("ids")} + int{fields.has("query")} + int{fields.has("from_job")};
  if (given != 1) {
    fields.complain("query",
                    "or \"ids\" or \"from_job\" must say what the job is about, and only one");
  } else if (fields.has("ids")) {
    spec.query = query_for_ids(fields);
  } else if (fields.has("from_job")) {
    read_from_job(fields, spec);
  } else {
    spec.query = fields.text("query");
    // An empty question matches everything: that has to be meant.
    if (spec.query.find_first_not_of(" \t\r\n") == std::string::npos) {
      fields.complain("query", "must not be empty; `status:open` is everything that is open");
    }
  }
}

/// {"set_headers": {"name": "value"}}
void read_set_headers(JsonFields& fields, ReplaySpec& spec) {
  const JsonValue* headers = fields.find("set_headers");
  if (headers == nullptr) return;
  if (headers->kind != JsonKind::object) fields.complain("set_headers", "must be an object");
  for (const JsonMember& member : headers->members) {
    if (member.value.kind != JsonKind::string) {
      fields.complain("set_headers", "must hold texts");
    } else if (header_class(member.name) == HeaderClass::locked) {
      fields.complain("set_headers",
                      "must not name " + in_quotes(member.name) + ", which is locked");
    }
    spec.set_headers.push_back({member.name, member.value.text(), HeaderType::text});
  }
}

std::vector<std::string> read_tags(JsonFields& fields, std::string_view name) {
  std::vector<std::string> tags;
  for (const JsonValue& item : fields.items(name)) {
    const std::string tag = item.text();
    if (item.kind != JsonKind::string || tag.empty() || tag.size() > 100) {
      fields.complain(name, "must hold strings of 1 to 100 bytes");
    }
    tags.push_back(tag);
  }
  if (tags.size() > 64) fields.complain(name, "must not hold more than 64");
  return tags;
}

/// A name, or the steps themselves.
void read_recipe_of(JsonFields& fields, JobSpec& spec) {
  const JsonValue* recipe = fields.find("recipe");
  if (recipe == nullptr) return;
  if (recipe->kind == JsonKind::string) {
    spec.recipe_name = recipe->text();
    return;
  }
  const auto steps = read_recipe(*recipe);
  if (!steps) {
    fields.complain("recipe", steps.error().detail);
  } else {
    spec.recipe = print_recipe(*steps);
  }
}

ReplaySpec read_replay(JsonFields& fields) {
  ReplaySpec spec;
  spec.target = fields.text("target");
  spec.canary = fields.number("canary");
  spec.success_percent =
      fields.has("success_percent") ? fields.small("success_percent") : usual_success;
  if (spec.success_percent > 100) fields.complain("success_percent", "must be 0 to 100");
  if (fields.has("success_percent") && spec.canary == 0) {
    fields.complain("success_percent",
                    "needs a canary: without one everything is sent before the first outcome is "
                    "known");
  }
  if (fields.has("watch")) {
    const auto watch = parse_duration(fields.text("watch"));
    if (!watch) fields.complain("watch", watch.error().detail);
    if (watch) spec.watch = *watch;
  }
  if (fields.has("concurrency")) {
    spec.concurrency = fields.number("concurrency");
    if (spec.concurrency == 0) fields.complain("concurrency", "must be at least 1");
  }
  if (fields.has("most_replays")) spec.most_replays = fields.small("most_replays");
  spec.quarantined_too = fields.boolean("quarantined_too");
  spec.again = fields.boolean("again");
  for (const JsonValue& name : fields.items("strip")) spec.strip.push_back(name.text());
  read_set_headers(fields, spec);
  return spec;
}

void read_wanted(JsonFields& fields, Wanted& wanted) {
  JobSpec& spec = wanted.spec;
  fields.require("act");
  const auto act = fields.choice("act", job_act_names).value_or(0);
  if (act == replay_act) {
    spec.replay = read_replay(fields);
  } else {
    spec.act = static_cast<dlo::Act>(act);
  }
  if (spec.act == dlo::Act::tag && !spec.replay) {
    spec.tags = read_tags(fields, "tags");
    spec.remove_tags = read_tags(fields, "remove_tags");
  }
  if (spec.replay || spec.act == dlo::Act::repair) read_recipe_of(fields, spec);
  spec.not_before = fields.time("at");
  wanted.dry_run = fields.boolean("dry_run");
  read_selection(fields, spec);
  set_order(spec, fields.choice("order", job_order_names).value_or(1));
  if (fields.has("limit")) spec.limit = fields.number("limit");
  if (fields.has("rate")) spec.rate = fields.small("rate");
  spec.by = fields.text("by");
  spec.how = fields.text("how");
  spec.notes = fields.text("notes");
  wanted.start = fields.boolean("start");
  if (fields.has("expect")) wanted.expect = fields.number("expect");
}

/// Of the very set that the job is about.
Result<void> check_expected(Office& office, const Job& job, std::optional<std::uint64_t> expected) {
  if (!expected) return {};
  const auto count = count_set(office, job);
  if (!count) return count.error();
  return check_count(*count, *expected);
}

std::uint32_t draw() {
  thread_local std::mt19937 random(std::random_device{}());
  return static_cast<std::uint32_t>(random());
}

/// A job keeps the steps as they are now, whatever becomes of the name.
Result<void> find_recipe(Office& office, JobSpec& spec) {
  if (spec.recipe_name.empty()) return {};
  const auto kept = RecipeBook(office).get(spec.recipe_name, std::nullopt);
  if (!kept) return kept.error();
  spec.recipe = print_recipe(kept->steps);
  spec.recipe_name += " v" + std::to_string(kept->version);
  return {};
}

/// What it would do. Nothing is kept.
HttpResponse dry_run(const JobParts& parts, const Request& request, Wanted wanted) {
  const auto job = parts.book.draw_up(std::move(wanted.spec), "", request.actor.name, request.now);
  if (!job) return problem_of(job.error());
  if (auto same = check_expected(parts.office, *job, wanted.expect); !same) {
    return problem_of(same.error());
  }
  const auto preview = parts.book.preview(*job);
  if (!preview) return problem_of(preview.error());
  JsonWriter json;
  json.begin_object().key("job");
  json.raw(to_json(curtain_of(request).hidden(*job, request.actor)));
  write_preview(json, *job, *preview, parts.targets);
  json.end_object();
  return json_answer(json.take());
}

/// The job, its start and its key are one write: whoever hears of it under that key once more hears
/// of a job that is kept, and begun if that was asked for.
HttpResponse keep_job(const JobParts& parts, const Request& request, Wanted wanted) {
  const auto key = IdempotencyKey::of(request);
  if (!key) return problem_of(key.error());
  if (*key) {
    auto before = (*key)->find(parts.office);
    if (!before) return problem_of(before.error());
    if (*before) return std::move(**before);
  }
  auto job = parts.book.draw_up(std::move(wanted.spec), job_id(request.now, draw()),
                                request.actor.name, request.now);
  if (!job) return problem_of(job.error());
  if (auto same = check_expected(parts.office, *job, wanted.expect); !same) {
    return problem_of(same.error());
  }
  const auto preview = parts.book.preview(*job);
  if (!preview) return problem_of(preview.error());
  std::vector<Change> also;
  if (*key) {
    Job told = *job;
    if (wanted.start) told = begun(std::move(told));
    also.emplace_back((*key)->keep(answer_of(parts, request, told, {}, &*preview, 201)));
  }
  auto kept = parts.book.keep(std::move(*job), wanted.start, std::move(also));
  if (!kept && *key) {  // somebody may have been quicker with the same key
    auto before = (*key)->find(parts.office);
    if (before && *before) return std::move(**before);
  }
  if (!kept) return problem_of(kept.error());
  if (*key) IdempotencyKey::forget_old(parts.office, request.now);
  if (wanted.start) parts.wake();
  HttpResponse answer = answer_of(parts, request, *kept, {}, &*preview, 201);
  answer.headers.push_back({"Location", "/v1/jobs/" + kept->id});
  return answer;
}

/// What goes back to another broker goes without what tells of its death there, and the plan says
/// so.
void leave_death_headers(const ReplayTargets& targets, JobSpec& spec) {
  if (!spec.replay) return;
  auto& strip = spec.replay->strip;
  const std::string& target = spec.replay->target;
  if (!target.empty() && !is_outside(targets, target)) return;
  for (const std::string& each : targets.outside.strip) {
    if (std::find(strip.begin(), strip.end(), each) == strip.end()) strip.push_back(each);
  }
}

}  // namespace

HttpResponse plan_job(const JobParts& parts, const Request& request) {
  Wanted wanted;
  const auto read = read_body(request, [&](JsonFields& fields) { read_wanted(fields, wanted); });
  if (!read) return problem_of(read.error());
  const bool edits = !wanted.spec.recipe.empty() || !wanted.spec.recipe_name.empty();
  if (auto no = check_act(request, act_of(wanted.spec), edits)) return std::move(*no);
  if (auto query = parse_query(wanted.spec.query, request.now)) {  // a wrong one is refused below
    if (auto fine = curtain_of(request).check(*query, request); !fine) {
      return problem_of(fine.error());
    }
  }
  if (wanted.spec.replay && !wanted.spec.replay->target.empty()) {
    const auto there = parts.targets.check(wanted.spec.replay->target);
    if (!there) return problem_of(there.error());
  }
  if (wanted.spec.replay && wanted.spec.replay->target.empty() && parts.targets.redirects) {
    wanted.spec.replay->redirects = parts.targets.redirects();
  }
  leave_death_headers(parts.targets, wanted.spec);
  if (auto there = find_recipe(parts.office, wanted.spec); !there) return problem_of(there.error());
  if (const auto recipe = parse_recipe(wanted.spec.recipe)) {
    const auto fine = curtain_of(request).check(*recipe, request);
    if (!fine) return problem_of(fine.error());
  }
  if (const auto fine = curtain_of(request).check(wanted.spec); !fine) {
    return problem_of(fine.error());
  }
  if (wanted.dry_run) return dry_run(parts, request, std::move(wanted));
  return keep_job(parts, request, std::move(wanted));
}

namespace {

HttpResponse show(const JobParts& parts, const Request& request) {
  const auto preview = request.flag("preview");
  if (!preview) return problem_of(preview.error());
  const auto job = parts.book.get(request.path.front());
  return job ? answer_with(parts, request, *job, *preview) : problem_of(job.error());
}

/// Whoever lets somebody else's plan begin does what it says.
std::optional<HttpResponse> check_begin(const JobParts& parts, const Request& request,
                                        JobVerb verb) {
  if (verb != JobVerb::start && verb != JobVerb::resume) return std::nullopt;
  const auto job = parts.book.get(request.path.front());
  if (!job) return problem_of(job.error());
  return check_act(request, act_of(job->spec), !job->spec.recipe.empty());
}

HttpResponse change(const JobParts& parts, const Request& request, JobVerb verb) {
  if (auto no = check_begin(parts, request, verb)) return std::move(*no);
  const auto job = parts.book.change(request.path.front(), verb, request.actor.name, request.now);
  if (!job) return problem_of(job.error());
  parts.wake();
  return answer_with(parts, request, *job, false);
}

HttpResponse items(JobBook& book, const Request& request) {
  const auto limit = request.number("limit", most_items, 1, most_items);
  if (!limit) return problem_of(limit.error());
  const auto job = book.get(request.path.front());
  if (!job) return problem_of(job.error());
  const auto found = book.items(job->id, request.text("after"), *limit);
  if (!found) return problem_of(found.error());
  const std::string* only = request.find("outcome");
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (const Document& each : *found) {
    // "sent 2" says of which occurrence; that is between us and the office.
    const std::string_view outcome = outcome_name(each.body);
    if (only != nullptr && outcome != *only) continue;
    json.begin_object().member("id", each.key).member("outcome", outcome).end_object();
  }
  json.end_array();
  if (found->size() == *limit) json.member("next", found->back().key);
  json.end_object();
  return json_answer(json.take());
}

Route verb_route(const JobParts& parts, std::string_view pattern, JobVerb verb) {
  return {
      "POST", pattern, Role::operator_, Lane::quick, {}, answering([parts, verb](const Request& r) {
        return change(parts, r, verb);
      })};
}

}  // namespace

std::vector<Route> job_routes(const JobParts& parts) {
  JobBook& book = parts.book;
  return {
      {"POST",
       "/v1/jobs",
       Role::operator_,
       Lane::slow,
       {},
       answering([parts](const Request& request) { return plan_job(parts, request); })},
      {"GET",
       "/v1/jobs/{id}",
       Role::reader,
       Lane::slow,
       {"preview"},
       answering([parts](const Request& request) { return show(parts, request); })},
      verb_route(parts, "/v1/jobs/{id}/start", JobVerb::start),
      verb_route(parts, "/v1/jobs/{id}/pause", JobVerb::pause),
      verb_route(parts, "/v1/jobs/{id}/resume", JobVerb::resume),
      verb_route(parts, "/v1/jobs/{id}/cancel", JobVerb::cancel),
      {"GET",
       "/v1/jobs/{id}/items",
       Role::reader,
       Lane::slow,
       {"after", "limit", "outcome"},
       answering([&book](const Request& request) { return items(book, request); })},
  };
}

}  // namespace dlo::api
