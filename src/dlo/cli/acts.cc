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

/// One by one, each told; what is refused does not stop the rest.
int act_on_each(Context& context, Client& client, const std::string& act,
                const std::vector<std::string>& ids, const std::string& body) {
  std::size_t done = 0;
  int worst = exit_error;
  Rows rows(context, {"id", "status"});
  for (const std::string& id : ids) {
    const auto reply = ask_for(client, {"POST", path_of(id, act.c_str()), body});
    if (!reply) {
      worst = refuse(context, reply.error());
      if (reply.error().code == Code::refused || is_retryable(reply.error().code)) break;
      continue;
    }
    ++done;
    rows.add({id, text_of(reply->value, "status")});
  }
  rows.end();
  if (done == ids.size()) return exit_ok;
  return done == 0 ? worst : exit_partial;
}

}  // namespace

Result<std::vector<std::string>> ids_of(Context& context, const std::vector<std::string>& said) {
  std::vector<std::string> ids;
  for (const std::string& each : said) {
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
    // What a replay or a resolve can be about is open; only a restore looks at the rest. A query
    // that cannot be read is refused by whoever it is sent to, with the reason.
    const auto read = parse_query(query, TimePoint{});
    const bool said = !read || !read->statuses.empty();
    json.member("query", said || act == "restore" ? query : query + " status:open");
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

int act(Context& context, const std::string& act, const BulkArguments& arguments) {
  const auto ids = ids_of(context, arguments.ids);
  if (!ids) return refuse(context, ids.error());
  const auto body = job_body(act, arguments, *ids, {});
  if (!body) return refuse(context, body.error());
  const auto client = connect(context, ids->empty() ? Need::work : Need::act);
  if (!client) return refuse(context, client.error());
  if (ids->empty()) return run_job(context, **client, *body, arguments.will);
  if (arguments.will.dry_run) {
    context.err << "This would " << act << " " << ids->size() << " dead letters.\n";
    return exit_ok;
  }
  const std::string question = act + " " + std::to_string(ids->size()) + " dead letters?";
  const bool final_act = act == "discard";
  if (final_act && !confirmed(context, arguments.will.yes, question)) return exit_usage;
  const std::string words = words_of(arguments, act == "resolve");
  if (act == "retry" && arguments.will.wait) return retry_and_wait(context, **client, *ids, words);
  return act_on_each(context, **client, act, *ids, words);
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
  const auto body = job_body("tag", arguments.bulk, {}, [&](JsonWriter& json) {
    const auto list = [&json](const char* name, const std::vector<std::string>& tags) {
      if (tags.empty()) return;
      json.key(name).begin_array();
      for (const std::string& each : tags) json.text(each);
      json.end_array();
    };
    list("tags", arguments.add);
    list("remove_tags", arguments.remove);
  });
  if (!body) return refuse(context, body.error());
  const auto client = connect(context, Need::work);
  if (!client) return refuse(context, client.error());
  return run_job(context, **client, *body, arguments.bulk.will);
}

}  // namespace

int tag(Context& context, const TagArguments& arguments) {
  if (arguments.id.empty()) return tag_many(context, arguments);
  if (!query_of(arguments.bulk.selection).empty()) {
    return refuse(context, {Code::invalid_argument, "cli.tag",
                            "Give an id or a query, not both; tags of a query are --add TAG and "
                            "--remove TAG."});
  }
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const std::string path = Address("/v1/dead-letters").step(arguments.id).text();
  const auto before = ask_for(**client, {"GET", path});
  if (!before) return refuse(context, before.error());
  std::vector<std::string> tags;
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
  // Somebody may have tagged it since we looked: then nothing is lost but this try.
  change.headers.push_back({"If-Match", "\"" + text_of(before->value, "version") + "\""});
  const auto reply = ask_for(**client, change);
  if (!reply) return refuse(context, reply.error());
  print_one(context, reply->value, "id", [&] {
    context.out << arguments.id << " ";
    for (const std::string& each : tags) context.out << " " << printable(each);
    context.out << "\n";
  });
  return exit_ok;
}

}  // namespace dlo::cli
