#include <ostream>
#include <string>

#include "dlo/cli/acts.h"
#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/duration.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

std::string path_of(const GroupArguments& arguments) {
  return Address("/v1/groups").step(arguments.id).text();
}

int show_one(Context& context, const Reply& reply) {
  print_one(context, reply.value, "id", [&] {
    for (const JsonMember& each : reply.value.members) {
      const std::string value = text_of(reply.value, each.name);
      if (value.empty() || value == "[]") continue;
      context.out << each.name
                  << std::string(each.name.size() < 16 ? 16 - each.name.size() : 1, ' ')
                  << printable(value) << "\n";
    }
  });
  return exit_ok;
}

/// Changes what `fill` says, and shows the group as it is then. With a `version`, only if nobody
/// changed it since.
int change(Context& context, Client& client, const GroupArguments& arguments,
           const std::function<void(JsonWriter&)>& fill, const std::string& version = {}) {
  JsonWriter json;
  json.begin_object();
  fill(json);
  json.end_object();
  Ask ask{"PATCH", path_of(arguments), json.take()};
  if (!version.empty()) ask.headers.push_back({"If-Match", "\"" + version + "\""});
  const auto reply = ask_for(client, ask);
  if (!reply) return refuse(context, reply.error());
  print_one(context, reply->value, "id", [&] {
    context.out << "group " << arguments.id << " is " << text_of(reply->value, "status");
    const std::string owner = text_of(reply->value, "owner");
    if (!owner.empty()) context.out << ", owner " << printable(owner);
    context.out << "\n";
  });
  return exit_ok;
}

int change(Context& context, const GroupArguments& arguments,
           const std::function<void(JsonWriter&)>& fill) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  return change(context, **client, arguments, fill);
}

/// One line more than what is noted already, and `fill`; refused if somebody changed the group
/// between looking and writing, so that nobody's notes are lost.
int add_note(Context& context, Client& client, const GroupArguments& arguments,
             const std::string& line, const std::function<void(JsonWriter&)>& fill) {
  const auto reply = ask_for(client, {"GET", path_of(arguments)});
  if (!reply) return refuse(context, reply.error());
  const std::string before = text_of(reply->value, "notes");
  const std::string notes = before + (before.empty() || line.empty() ? "" : "\n") + line;
  return change(
      context, client, arguments,
      [&](JsonWriter& json) {
        if (fill) fill(json);
        json.member("notes", notes);
      },
      text_of(reply->value, "version"));
}

}  // namespace

int group_list(Context& context, const GroupArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  std::string statuses;
  for (const std::string& each : arguments.statuses)
    statuses += (statuses.empty() ? "" : ",") + each;
  const std::string target = Address("/v1/groups")
                                 .with("order", arguments.order)
                                 .with("limit", std::to_string(arguments.limit))
                                 .with_some("status", statuses)
                                 .with_some("owner", arguments.owner)
                                 .with_some("tag", arguments.tag)
                                 .with_some("cursor", arguments.cursor)
                                 .text();
  const bool chosen = !statuses.empty() || !arguments.owner.empty() || !arguments.tag.empty();
  return watched(context, arguments.watch, [&]() -> int {
    const auto reply = ask_for(**client, {"GET", target});
    if (!reply) return refuse(context, reply.error());
    const auto& groups = member(reply->value, "groups").items;
    print_items(context, *reply, groups, "id", [&] { return group_table(context, groups); });
    const bool partial = is_true(reply->value, "partial");
    if (partial) {
      context.err << "The search took too long and stopped early.\n";
    } else if (groups.empty()) {
      context.err << (chosen ? "No group is like that.\n"
                             : "There are no groups: nothing has died yet.\n");
    }
    const std::string next = text_of(reply->value, "next");
    if (!next.empty()) context.err << "More: add --cursor " << next << "\n";
    if (partial) return exit_partial;
    return groups.empty() ? exit_nothing_matched : exit_ok;
  });
}

int group_show(Context& context, const GroupArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", path_of(arguments)});
  return reply ? show_one(context, *reply) : refuse(context, reply.error());
}

int group_resolve(Context& context, const GroupArguments& arguments) {
  const auto client = connect(context, Need::work);
  if (!client) return refuse(context, client.error());
  const auto there = ask_for(**client, {"GET", path_of(arguments)});
  if (!there) return refuse(context, there.error());
  BulkArguments bulk = arguments.bulk;
  bulk.selection.group = arguments.id;
  bulk.will.wait = true;  // the group is resolved when all of it is
  bulk.will.silent = !is_for_people(context) && !bulk.will.dry_run;  // the group is the answer
  const auto body = job_body("resolve", bulk, {}, {});
  if (!body) return refuse(context, body.error());
  const int code = run_job(context, **client, *body, bulk.will);
  // A group without open dead letters is resolved all the same.
  if (bulk.will.dry_run || (code != exit_ok && code != exit_nothing_matched)) return code;
  return add_note(context, **client, arguments, arguments.bulk.notes,
                  [](JsonWriter& json) { json.member("status", "resolved"); });
}

int group_status(Context& context, const GroupArguments& arguments, const std::string& status) {
  std::optional<TimePoint> until;
  if (!arguments.length.empty()) {
    const auto length = parse_duration(arguments.length);
    if (!length) return refuse(context, length.error());
    until = context.now + *length;
  }
  return change(context, arguments, [&](JsonWriter& json) {
    json.member("status", status);
    if (until) json.member("snoozed_until", *until);
  });
}

int group_assign(Context& context, const GroupArguments& arguments) {
  return change(context, arguments,
                [&](JsonWriter& json) { json.member("owner", arguments.owner); });
}

int group_ticket(Context& context, const GroupArguments& arguments) {
  return change(context, arguments,
                [&](JsonWriter& json) { json.member("ticket", arguments.text); });
}

int group_note(Context& context, const GroupArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  return add_note(context, **client, arguments, arguments.text, {});
}

}  // namespace dlo::cli
