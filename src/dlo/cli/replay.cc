#include <charconv>
#include <ostream>
#include <string>

#include "dlo/cli/acts.h"
#include "dlo/cli/client.h"
#include "dlo/cli/table.h"
#include "dlo/core/spelling.h"

namespace dlo::cli {
namespace {

std::string job_path(const std::string& id, const std::string& verb = {}) {
  Address address("/v1/jobs");
  address.step(id);
  if (!verb.empty()) address.step(verb);
  return address.text();
}

/// "5%" or "5".
Result<std::uint64_t> percent_of(const std::string& text) {
  std::uint64_t value = 101;
  const char* end = text.data() + text.size() - (text.ends_with('%') ? 1 : 0);
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end && value <= 100) return value;
  return Error{Code::invalid_argument, "cli.replay",
               "--stop-if-fail is a share such as 5%, not " + in_quotes(text) + "."};
}

std::string when(const JsonValue& job, const char* name, TimePoint now) {
  const auto time = time_of(job, name);
  return time ? relative(*time, now) : "";
}

int list_jobs(Context& context, Client& client) {
  const auto reply = ask_for(client, {"GET", "/v1/jobs"});
  if (!reply) return refuse(context, reply.error());
  const auto& jobs = member(reply->value, "jobs").items;
  if (context.format == Format::json) {
    context.out << *reply->text;
  } else if (context.format == Format::ndjson || context.format == Format::id) {
    for (const JsonValue& job : jobs) {
      context.out << (context.format == Format::id ? text_of(job, "id") : std::string(job.raw))
                  << "\n";
    }
  } else if (!jobs.empty()) {
    Table table({{"JOB"},
                 {"STATE", Align::left, false, colour_of_status},
                 {"ACT"},
                 {"PLANNED"},
                 {"ENDED"},
                 {"BY"},
                 {"QUERY", Align::left, true}});
    for (const JsonValue& job : jobs) {
      table.add({text_of(job, "id"), text_of(job, "state"), text_of(job, "act"),
                 when(job, "created_at", context.now), when(job, "ended_at", context.now),
                 text_of(job, "created_by"), text_of(job, "query")});
    }
    print(context, table);
  }
  if (jobs.empty()) context.err << "There are no jobs.\n";
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
  context.out << "\nleft             " << text_of(member(answer, "preview"), "count") << "\n";
}

}  // namespace

int replay(Context& context, const ReplayArguments& arguments) {
  const auto ids = ids_of(context, arguments.bulk.ids);
  if (!ids) return refuse(context, ids.error());
  const auto share = percent_of(arguments.stop_if_fail);
  if (!share) return refuse(context, share.error());
  const auto body = job_body("replay", arguments.bulk, *ids, [&](JsonWriter& json) {
    if (!arguments.to.empty()) json.member("target", arguments.to);
    if (arguments.canary > 0) json.member("canary", arguments.canary);
    json.member("success_percent", 100 - *share);
    if (!arguments.watch.empty()) json.member("watch", arguments.watch);
    if (arguments.max_replays > 0) json.member("most_replays", arguments.max_replays);
    if (arguments.quarantined_too) json.key("quarantined_too").boolean(true);
    if (arguments.strip.empty()) return;
    json.key("strip").begin_array();
    for (const std::string& each : arguments.strip) json.text(each);
    json.end_array();
  });
  if (!body) return refuse(context, body.error());
  const auto client = connect(context, Need::work);
  if (!client) return refuse(context, client.error());
  return run_job(context, **client, *body, arguments.bulk.will);
}

int job_list(Context& context, const WatchArguments& watch) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  return watched(context, watch, [&] { return list_jobs(context, **client); });
}

int job_show(Context& context, const JobArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", job_path(arguments.id) + "?preview=true"});
  if (!reply) return refuse(context, reply.error());
  if (context.format == Format::json || context.format == Format::ndjson) {
    context.out << *reply->text;
  } else {
    print_job(context, reply->value);
  }
  return exit_ok;
}

int job_items(Context& context, const JobArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  std::string after;
  std::size_t shown = 0;
  do {
    Address address(job_path(arguments.id, "items"));
    address.with_some("outcome", arguments.outcome).with_some("after", after);
    const auto reply = ask_for(**client, {"GET", address.text()});
    if (!reply) return refuse(context, reply.error());
    for (const JsonValue& item : member(reply->value, "items").items) {
      ++shown;
      if (context.format == Format::json || context.format == Format::ndjson) {
        context.out << item.raw << "\n";
      } else {
        context.out << text_of(item, "id");
        if (context.format != Format::id) context.out << "  " << text_of(item, "outcome");
        context.out << "\n";
      }
    }
    after = text_of(reply->value, "next");
  } while (!after.empty());
  return shown == 0 ? exit_nothing_matched : exit_ok;
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
  context.out << "Job " << arguments.id << " is " << text_of(member(reply->value, "job"), "state")
              << "\n";
  return exit_ok;
}

}  // namespace dlo::cli
