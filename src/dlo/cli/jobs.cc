#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "dlo/cli/acts.h"
#include "dlo/cli/client.h"
#include "dlo/cli/job_run.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

std::string job_path(const std::string& id, const std::string& verb = {}) {
  Address address("/v1/jobs");
  address.step(id);
  if (!verb.empty()) address.step(verb);
  return address.text();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& each : words) text += (text.empty() ? "" : ",") + each;
  return text;
}

int list_jobs(Context& context, Client& client, const JobListArguments& arguments) {
  const auto reply = ask_for(client, {"GET", Address("/v1/jobs")
                                                 .with("limit", std::to_string(arguments.limit))
                                                 .with_some("state", joined(arguments.states))
                                                 .with_some("act", joined(arguments.acts))
                                                 .with_some("cursor", arguments.cursor)
                                                 .text()});
  if (!reply) return refuse(context, reply.error());
  const auto& jobs = member(reply->value, "jobs").items;
  print_items(context, *reply, jobs, "id", [&] {
    Table table({{"JOB"},
                 {"STATE", Align::left, false, colour_of_status},
                 {"ACT"},
                 {"DONE", Align::right},
                 {"PLANNED"},
                 {"ENDED"},
                 {"BY"},
                 {"QUERY", Align::left, true}});
    for (const JsonValue& job : jobs) {
      table.add({text_of(job, "id"), text_of(job, "state"), text_of(job, "act"),
                 extent_of_job(member(job, "progress")), when(context, time_of(job, "created_at")),
                 when(context, time_of(job, "ended_at")), text_of(job, "created_by"),
                 text_of(job, "query")});
    }
    return table;
  });
  const bool chosen = !arguments.states.empty() || !arguments.acts.empty();
  if (jobs.empty()) {
    context.err << (chosen ? "No job is like that.\n" : "There are no jobs.\n");
  }
  const std::string next = text_of(reply->value, "next");
  if (!next.empty()) context.err << "More: add --cursor " << next << "\n";
  return jobs.empty() ? exit_nothing_matched : exit_ok;
}

void print_job(Context& context, const JsonValue& answer) {
  const JsonValue& job = member(answer, "job");
  for (const JsonMember& each : job.members) {
    if (each.value.kind == JsonKind::object || each.value.kind == JsonKind::array) continue;
    const std::string value = text_of(job, each.name);
    if (!value.empty()) {
      context.out << each.name
                  << std::string(each.name.size() < 17 ? 17 - each.name.size() : 1, ' ')
                  << printable(value) << "\n";
    }
  }
  context.out << "progress         ";
  for (const JsonMember& each : member(answer, "progress").members) {
    context.out << each.name << " " << each.value.raw << "  ";
  }
  const JsonValue& preview = member(answer, "preview");
  const auto size = size_of_job(member(answer, "progress"));
  context.out << "\nleft             "
              << (size ? std::to_string(*size - number_of(member(answer, "progress"), "total"))
                       : (is_true(preview, "at_least") ? "at least " : "") +
                             text_of(preview, "count"))
              << "\n";
}

/// How many a job did not do, as `"outcome": "failed"` counts them.
std::uint64_t failed_of(const JsonValue& progress) {
  std::uint64_t count = 0;
  for (const char* name : {"refused", "changed", "returned", "looped", "behind"}) {
    count += number_of(progress, name);
  }
  return count;
}

/// What a job was asked, as a plan for what it failed with. Names that plans and jobs call
/// differently are translated; what a job says of itself is left out.
std::string same_again(const JsonValue& job) {
  JsonWriter json;
  json.begin_object().member("from_job", text_of(job, "id")).member("outcome", "failed");
  for (const char* name : {"act", "target", "canary", "success_percent", "most_replays",
                           "quarantined_too", "again", "strip", "concurrency", "recipe", "tags",
                           "remove_tags", "order", "rate", "by", "how", "notes"}) {
    if (const JsonValue* value = job.find(name)) json.key(name).raw(value->raw);
  }
  if (job.find("watch_ms") != nullptr) json.member("watch", text_of(job, "watch_ms") + "ms");
  const auto& set = member(job, "set_headers").items;
  if (!set.empty()) {
    json.key("set_headers").begin_object();
    for (const JsonValue& each : set) json.member(text_of(each, "name"), text_of(each, "value"));
    json.end_object();
  }
  json.end_object();
  return json.take();
}

}  // namespace

int job_list(Context& context, const JobListArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  return watched(context, arguments.watch, [&] { return list_jobs(context, **client, arguments); });
}

int job_show(Context& context, const JobArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", job_path(arguments.id) + "?preview=true"});
  if (!reply) return refuse(context, reply.error());
  print_job_answer(context, *reply, [&] { print_job(context, reply->value); });
  return exit_ok;
}

int job_items(Context& context, const JobArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  std::string after;
  Rows rows(context, {"id", "outcome"});
  do {
    Address address(job_path(arguments.id, "items"));
    address.with_some("outcome", arguments.outcome).with_some("after", after);
    const auto reply = ask_for(**client, {"GET", address.text()});
    if (!reply) return refuse(context, reply.error());
    for (const JsonValue& item : member(reply->value, "items").items) {
      rows.add({text_of(item, "id"), text_of(item, "outcome")});
    }
    after = text_of(reply->value, "next");
  } while (!after.empty());
  rows.end();
  return rows.count() == 0 ? exit_nothing_matched : exit_ok;
}

int job_retry_failed(Context& context, const JobArguments& arguments, const JobWill& will) {
  const auto client = connect(context, Need::work);
  if (!client) return refuse(context, client.error());
  const auto before = ask_for(**client, {"GET", job_path(arguments.id)});
  if (!before) return refuse(context, before.error());
  if (failed_of(member(before->value, "progress")) == 0) {
    context.err << "Job " << arguments.id << " failed with none of them.\n";
    return exit_nothing_matched;
  }
  return run_job(context, **client, same_again(member(before->value, "job")), will);
}

int job_watch(Context& context, const JobArguments& arguments) {
  // Where no server works, watching is what gets it done.
  const auto client = connect(context, Need::work);
  if (!client) return refuse(context, client.error());
  return watch_job(context, **client, arguments.id);
}

int job_change(Context& context, const JobArguments& arguments, const std::string& verb,
               const JobWill& will) {
  const bool begins = verb == "start" || verb == "resume";
  const auto client = connect(context, begins ? Need::work : Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"POST", job_path(arguments.id, verb)});
  if (!reply) return refuse(context, reply.error());
  if (begins && (will.wait || !(*client)->is_server())) {
    return watch_job(context, **client, arguments.id);
  }
  print_job_answer(context, *reply, [&] {
    context.out << "Job " << arguments.id << " is " << text_of(member(reply->value, "job"), "state")
                << "\n";
  });
  return exit_ok;
}

}  // namespace dlo::cli
