#include "dlo/cli/acts.h"

#include <algorithm>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "dlo/cli/client.h"
#include "dlo/cli/job_batch.h"
#include "dlo/cli/output.h"
#include "dlo/cli/retry_wait.h"
#include "dlo/cli/table.h"
#include "dlo/core/acts.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"
#include "dlo/query/query_text.h"

namespace dlo::cli {
namespace {

std::string path_of(const std::string& id, const char* act) {
  return Address("/v1/dead-letters").step(id).step(act).text();
}

std::string words_of(const BulkArguments& arguments, bool with_resolution) {
  JsonWriter json;
  json.begin_object();
  if (with_resolution && !arguments.by.empty()) json.member("by", arguments.by);
  if (with_resolution && !arguments.how.empty()) json.member("how", arguments.how);
  if (!arguments.notes.empty()) json.member("notes", arguments.notes);
  json.end_object();
  return json.take();
}

int act_on_one(Context& context, Client& client, const std::string& act, const std::string& id,
               const std::string& body) {
  const auto reply = ask_for(client, {"POST", path_of(id, act.c_str()), body});
  if (!reply) return refuse(context, reply.error());
  Rows rows(context, {"id", "status"});
  rows.add({id, text_of(reply->value, "status")});
  rows.end();
  return exit_ok;
}

}  // namespace

int nothing_came(Context& context) {
  context.err << "dlo: No ids came from standard input; there is nothing to do.\n";
  return exit_nothing_matched;
}

/// A query beside ids is refused before anything is read: if no id came, it would be about
/// everything that the query finds.
Result<std::vector<std::string>> ids_of(Context& context, const BulkArguments& arguments) {
  if (!arguments.ids.empty() && !query_of(arguments.selection).empty()) {
    return Error{Code::invalid_argument, "cli.act", "Give ids or a query, not both."};
  }
  std::vector<std::string> ids;
  for (const std::string& each : arguments.ids) {
    if (each != "-") {
      ids.push_back(each);
      continue;
    }
    if (context.in == nullptr) continue;
    for (std::string word; *context.in >> word;) ids.push_back(word);
  }
  return ids;
}

Result<std::string> job_body(const std::string& act, const BulkArguments& arguments,
                             const std::vector<std::string>& ids, const JobExtras& extras) {
  const std::string query = query_of(arguments.selection);
  if (ids.empty() == query.empty()) {
    return Error{Code::invalid_argument, "cli.act",
                 ids.empty() ? "Say what to " + act +
                                   ": ids, - for ids from standard input, --group G or --where "
                                   "QUERY. `--where status:open` is everything that is open."
                             : "Give ids or a query, not both."};
  }
  JsonWriter json;
  json.begin_object().member("act", act);
  if (ids.empty()) {
    // A query that cannot be read is refused by whoever it is sent to, with the reason.
    const auto read = parse_query(query, TimePoint{});
    const bool said = !read || !read->statuses.empty();
    json.member("query", said || !is_about_open(act) ? query : query + " status:open");
  } else {
    json.key("ids").begin_array();
    for (const std::string& id : ids) json.text(id);
    json.end_array();
  }
  if (arguments.newest_first) json.member("order", "newest");
  if (arguments.limit > 0) json.member("limit", arguments.limit);
  if (arguments.rate > 0) json.member("rate", arguments.rate);
  if (!arguments.by.empty()) json.member("by", arguments.by);
  if (!arguments.how.empty()) json.member("how", arguments.how);
  if (!arguments.notes.empty()) json.member("notes", arguments.notes);
  if (extras) extras(json);
  json.end_object();
  return json.take();
}

int run_bulk(Context& context, const std::string& act, const BulkArguments& arguments,
             std::vector<std::string> ids, const JobExtras& extras, bool in_turn) {
  BulkArguments all = arguments;
  if (all.limit > 0 && ids.size() > all.limit) ids.resize(all.limit);
  if (ids.size() > ids_of_a_job) all.limit = 0;  // it was heeded
  const auto first = job_body(act, all, ids, extras);
  if (!first) return refuse(context, first.error());
  const auto client = connect(context, Need::work);
  if (!client) return refuse(context, client.error());
  if (ids.empty()) return run_job(context, **client, *first, all.will);
  const auto body_of = [&](const std::vector<std::string>& some) {
    return job_body(act, all, some, extras);
  };
  return run_jobs(context, **client, ids, body_of, all.will, in_turn);
}

namespace {

int act_at_once(Context& context, const std::string& act, const BulkArguments& arguments,
                const std::vector<std::string>& ids) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const bool final_act = act == "discard";
  if (final_act && !confirmed(context, arguments.will.yes, "discard 1 dead letter?")) {
    return exit_usage;
  }
  const std::string words = words_of(arguments, act == "resolve");
  if (act == "retry" && arguments.will.wait) return retry_and_wait(context, **client, ids, words);
  return act_on_one(context, **client, act, ids.front(), words);
}

}  // namespace

int act(Context& context, const std::string& act, const BulkArguments& arguments) {
  const auto ids = ids_of(context, arguments);
  if (!ids) return refuse(context, ids.error());
  if (ids->empty() && !arguments.ids.empty()) return nothing_came(context);
  const bool plain = arguments.limit == 0 && arguments.rate == 0 && !arguments.will.dry_run;
  const bool awaited = act == "retry" && arguments.will.wait;  // what comes of each is asked for
  if (plain && !ids->empty() && (ids->size() == 1 || awaited)) {
    return act_at_once(context, act, arguments, *ids);
  }
  BulkArguments all = arguments;
  if (!ids->empty()) {
    // Whoever names them has seen them: only what cannot be taken back is asked for. And as with
    // one, it is done when the command ends.
    all.will.yes = all.will.yes || act != "discard";
    all.will.wait = true;
  }
  return run_bulk(context, act, all, *ids);
}

int note(Context& context, const NoteArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  JsonWriter json;
  json.begin_object().member("text", arguments.text);
  if (!arguments.by.empty()) json.member("by", arguments.by);
  json.end_object();
  const auto reply = ask_for(**client, {"POST", path_of(arguments.id, "notes"), json.take()});
  if (!reply) return refuse(context, reply.error());
  print_done(context, reply->value, arguments.id, [&] {
    context.out << "noted; dead letter " << arguments.id << " has "
                << member(reply->value, "notes").items.size() << " notes\n";
  });
  return exit_ok;
}

namespace {

/// Many at once, as a job.
int tag_many(Context& context, const TagArguments& arguments) {
  const auto ids = ids_of(context, arguments.bulk);
  if (!ids) return refuse(context, ids.error());
  if (ids->empty() && !arguments.bulk.ids.empty()) return nothing_came(context);
  const auto said = [&](JsonWriter& json) {
    const auto list = [&json](const char* name, const std::vector<std::string>& tags) {
      if (tags.empty()) return;
      json.key(name).begin_array();
      for (const std::string& each : tags) json.text(each);
      json.end_array();
    };
    list("tags", arguments.add);
    list("remove_tags", arguments.remove);
  };
  return run_bulk(context, "tag", arguments.bulk, *ids, said);
}

}  // namespace

namespace {

constexpr int most_tries = 8;

/// What it has, changed as `arguments` say. Conflict: somebody changed it since we looked.
Result<Reply> tag_once(Client& client, const TagArguments& arguments,
                       std::vector<std::string>& tags) {
  const std::string path = Address("/v1/dead-letters").step(arguments.id).text();
  const auto before = ask_for(client, {"GET", path});
  if (!before) return before.error();
  tags.clear();
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  for (const JsonValue& each : member(before->value, "tags").items) {
    if (!has(arguments.remove, each.text())) tags.push_back(each.text());
  }
  for (const std::string& each : arguments.add) {
    if (!has(tags, each)) tags.push_back(each);
  }
  JsonWriter json;
  json.begin_object().key("tags").begin_array();
  for (const std::string& each : tags) json.text(each);
  json.end_array().end_object();
  Ask change{"PUT", path + "/tags", json.take()};
  change.headers.push_back({"If-Match", "\"" + text_of(before->value, "version") + "\""});
  return ask_for(client, change);
}

}  // namespace

int tag(Context& context, const TagArguments& arguments) {
  if (arguments.id.empty()) return tag_many(context, arguments);
  if (arguments.id == "-") {
    TagArguments all = arguments;
    all.bulk.ids = {"-"};
    all.bulk.will.yes = all.bulk.will.wait = true;  // as with one
    return tag_many(context, all);
  }
  if (!query_of(arguments.bulk.selection).empty()) {
    return refuse(context, {Code::invalid_argument, "cli.tag",
                            "Give an id or a query, not both; tags of a query are --add TAG and "
                            "--remove TAG."});
  }
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  std::vector<std::string> tags;
  auto reply = tag_once(**client, arguments, tags);
  for (int left = most_tries; left > 1 && !reply && reply.error().code == Code::conflict; --left) {
    reply = tag_once(**client, arguments, tags);
  }
  if (!reply) return refuse(context, reply.error());
  print_one(context, reply->value, "id", [&] {
    context.out << arguments.id << " ";
    for (const std::string& each : tags) context.out << " " << printable(each);
    context.out << "\n";
  });
  return exit_ok;
}

}  // namespace dlo::cli
