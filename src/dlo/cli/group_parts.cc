// What a group is made of: merged, split, taken apart by facets, counted over time.
#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "dlo/cli/acts.h"
#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

std::string path_of(const std::string& id, const char* what) {
  return Address("/v1/groups").step(id).step(what).text();
}

void say_group(Context& context, const JsonValue& group) {
  print_one(context, group, "id", [&] {
    context.out << "group " << text_of(group, "id") << " has " << text_of(group, "open")
                << " open, " << text_of(group, "total") << " ever";
    if (const auto merged = member(group, "merged").items.size(); merged > 0) {
      context.out << ", merged of " << merged << " fingerprints";
    }
    context.out << "\n";
  });
}

/// "build=1.4.2"
Result<std::pair<std::string, std::string>> facet_of(const std::string& text) {
  const auto equals = text.find('=');
  if (equals != std::string::npos && equals > 0 && equals + 1 < text.size()) {
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
  }
  return Error{Code::invalid_argument, "cli.group",
               "--by is FACET=VALUE such as build=1.4.2, not " + in_quotes(text) +
                   "; dlo group facets shows what there is."};
}

/// One row for each value of each facet, its share first.
std::vector<std::string> facet_row(const JsonMember& facet, const JsonValue& value,
                                   std::uint64_t all) {
  const auto count = number_of(value, "count");
  const auto share = all == 0 ? 0 : count * 100 / all;
  return {facet.name, text_of(value, "value"), std::to_string(count), std::to_string(share) + " %"};
}

Table facet_table(const JsonValue& answer) {
  Table table(
      {{"FACET"}, {"VALUE", Align::left, true}, {"COUNT", Align::right}, {"SHARE", Align::right}});
  for (const JsonMember& facet : member(answer, "facets").members) {
    for (const JsonValue& value : facet.value.items) {
      table.add(facet_row(facet, value, number_of(answer, "looked_at")));
    }
  }
  return table;
}

Table trend_table(const std::vector<JsonValue>& buckets, bool bars) {
  std::uint64_t most = 1;
  for (const JsonValue& each : buckets) most = std::max(most, number_of(each, "count"));
  std::vector<Column> columns = {{"FROM"}, {"COUNT", Align::right}};
  if (bars) columns.push_back({""});
  Table table(std::move(columns));
  for (const JsonValue& each : buckets) {
    if (!bars) {
      table.add({text_of(each, "from"), text_of(each, "count")});
      continue;
    }
    const std::size_t length = number_of(each, "count") * 40 / most;
    table.add({text_of(each, "from"), text_of(each, "count"), std::string(length, '#')});
  }
  return table;
}

/// A split by a facet is a job: it touches as many dead letters as there are.
int follow_split(Context& context, Client& client, const Reply& reply, bool wait) {
  const std::string job = text_of(member(reply.value, "job"), "id");
  const bool words = is_for_people(context);
  if (words) {
    context.out << "job " << job << "\nnew group " << text_of(reply.value, "group") << std::endl;
  } else {
    print_one(context, reply.value, "group", [] {});
  }
  if (client.is_server() && !wait) return exit_ok;
  return watch_job(context, client, job, !words);
}

}  // namespace

int group_merge(Context& context, const GroupPartsArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  JsonWriter json;
  json.begin_object().key("from").begin_array();
  for (const std::string& each : arguments.others) json.text(each);
  json.end_array().end_object();
  const auto reply = ask_for(**client, {"POST", path_of(arguments.id, "merge"), json.take()});
  if (!reply) return refuse(context, reply.error());
  say_group(context, reply->value);
  return exit_ok;
}

int group_unmerge(Context& context, const GroupPartsArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  for (const std::string& each : arguments.others) {
    JsonWriter json;
    json.begin_object().member("fingerprint", each).end_object();
    const auto reply = ask_for(**client, {"POST", path_of(arguments.id, "split"), json.take()});
    if (!reply) return refuse(context, reply.error());
    say_group(context, reply->value);
  }
  return exit_ok;
}

int group_split(Context& context, const GroupPartsArguments& arguments) {
  const auto facet = facet_of(arguments.by);
  if (!facet) return refuse(context, facet.error());
  const auto client = connect(context, Need::work);
  if (!client) return refuse(context, client.error());
  JsonWriter json;
  json.begin_object().member("facet", facet->first).member("value", facet->second);
  if (arguments.will.dry_run) json.key("dry_run").boolean(true);
  json.end_object();
  const auto reply = ask_for(**client, {"POST", path_of(arguments.id, "split"), json.take()});
  if (!reply) return refuse(context, reply.error());
  const JsonValue& preview = member(reply->value, "preview");
  context.err << (is_true(preview, "at_least") ? "At least " : "") << text_of(preview, "count")
              << " dead letters have " << printable(facet->first) << " " << printable(facet->second)
              << ".\n";
  if (arguments.will.dry_run) return exit_ok;
  return follow_split(context, **client, *reply, arguments.will.wait);
}

int group_facets(Context& context, const GroupPartsArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", path_of(arguments.id, "facets")});
  if (!reply) return refuse(context, reply.error());
  const auto looked_at = number_of(reply->value, "looked_at");
  if (context.format == Format::json || context.format == Format::ndjson) {
    context.out << *reply->text;
  } else if (context.format == Format::id) {
    context.out << text_of(reply->value, "id") << "\n";
  } else {
    print(context, facet_table(reply->value));
  }
  if (!is_true(reply->value, "all")) {
    context.err << "Of the newest " << looked_at << " dead letters; there are more.\n";
  }
  return looked_at == 0 ? exit_nothing_matched : exit_ok;
}

int group_trend(Context& context, const GroupPartsArguments& arguments) {
  const auto client = connect(context, Need::look);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", path_of(arguments.id, "trend")});
  if (!reply) return refuse(context, reply.error());
  const auto& buckets = member(reply->value, arguments.days ? "days" : "hours").items;
  print_items(context, *reply, buckets, "from",
              [&] { return trend_table(buckets, context.format != Format::csv); });
  return buckets.empty() ? exit_nothing_matched : exit_ok;
}

}  // namespace dlo::cli
