#include <ostream>
#include <string>

#include "dlo/cli/client.h"
#include "dlo/cli/output.h"
#include "dlo/cli/rules.h"
#include "dlo/cli/table.h"

namespace dlo::cli {
namespace {

std::string path_of(const SourceArguments& arguments, const char* act = nullptr) {
  Address address("/v1/sources");
  address.step(arguments.source);
  if (act != nullptr) address.step(act);
  return address.text();
}

/// What is worth a look: paused, a consumer that does not work, a collector that does not collect,
/// a relay that does not send.
std::string state_of(const JsonValue& source) {
  if (is_true(source, "paused")) return "paused";
  if (text_of(source, "kind") == "unserved") return "unserved";
  const JsonValue& consumer = member(source, "consumer");
  const std::string working = text_of(consumer, "state");
  if (!working.empty() && working != "working") return working;
  if (!text_of(consumer, "trouble").empty()) return "trouble";
  for (const JsonValue& each : member(source, "collectors").items) {
    const std::string state = text_of(each, "state");
    if (state != "collecting") return state;
    if (!text_of(each, "trouble").empty()) return "trouble";
  }
  for (const JsonValue& each : member(source, "relays").items) {
    const std::string state = text_of(each, "state");
    if (state != "relaying") return state;
  }
  return "";
}

/// Whatever is wrong, below a table that has no room for it.
void print_troubles(Context& context, const std::vector<JsonValue>& sources) {
  for (const JsonValue& source : sources) {
    const auto say = [&](const JsonValue& part) {
      const std::string trouble = text_of(part, "trouble");
      if (trouble.empty()) return;
      context.err << printable(text_of(source, "source")) << ": " << printable(trouble) << "\n";
    };
    say(source);
    say(member(source, "consumer"));
    for (const JsonValue& each : member(source, "collectors").items) say(each);
    for (const JsonValue& each : member(source, "relays").items) say(each);
  }
}

Table table_of(const Context& context, const std::vector<JsonValue>& sources) {
  Table table({{"SOURCE"},
               {"KIND"},
               {"OPEN", Align::right},
               {"TOTAL", Align::right},
               {"WAITING", Align::right},
               {"READY", Align::right},
               {"LEASED", Align::right},
               {"OLDEST"},
               {"PROFILE"},
               {"STATE", Align::left, false, colour_of_status}});
  for (const JsonValue& each : sources) {
    table.add({text_of(each, "source"), text_of(each, "kind"), text_of(each, "open"),
               text_of(each, "total"), text_of(each, "waiting"), text_of(each, "ready"),
               text_of(each, "leased"), when(context, time_of(each, "oldest")),
               text_of(each, "profile"), state_of(each)});
  }
  return table;
}

void print_collector(Context& context, const JsonValue& collector) {
  const std::string trouble = text_of(collector, "trouble");
  context.out << "collector " << printable(text_of(collector, "name")) << ": "
              << text_of(collector, "broker") << " queue " << printable(text_of(collector, "queue"))
              << ", " << text_of(collector, "state") << ", " << text_of(collector, "collected")
              << " collected" << (trouble.empty() ? "" : ": " + printable(trouble)) << "\n";
}

void print_relay(Context& context, const JsonValue& relay) {
  const std::string trouble = text_of(relay, "trouble");
  context.out << "outbox " << printable(text_of(relay, "name")) << ": table "
              << printable(text_of(relay, "table")) << " to " << printable(text_of(relay, "to"))
              << ", " << text_of(relay, "state") << ", " << text_of(relay, "published")
              << " published, " << text_of(relay, "waiting") << " waiting, "
              << text_of(relay, "dead") << " dead"
              << (trouble.empty() ? "" : ": " + printable(trouble)) << "\n";
}

void print_consumer(Context& context, const JsonValue& consumer) {
  const std::string trouble = text_of(consumer, "trouble");
  const std::string copies = text_of(consumer, "dead_letter_queue");
  context.out << "consumer  " << text_of(consumer, "broker") << " queue "
              << printable(text_of(consumer, "queue")) << " by "
              << printable(text_of(consumer, "handler")) << ", " << text_of(consumer, "state")
              << ", " << text_of(consumer, "received") << " received, "
              << text_of(consumer, "succeeded") << " done, " << text_of(consumer, "retried")
              << " retried, " << text_of(consumer, "dead") << " dead"
              << (copies.empty() ? "" : ", copies to " + printable(copies))
              << (trouble.empty() ? "" : ": " + printable(trouble)) << "\n";
}

void print_source(Context& context, const JsonValue& source) {
  print_one(context, source, "source", [&] {
    for (const JsonMember& each : source.members) {
      const std::string value = text_of(source, each.name);
      const bool is_plain =
          each.value.kind != JsonKind::array && each.value.kind != JsonKind::object;
      if (value.empty() || !is_plain) continue;
      context.out << each.name
                  << std::string(each.name.size() < 10 ? 10 - each.name.size() : 1, ' ')
                  << printable(value) << "\n";
    }
    const JsonValue& consumer = member(source, "consumer");
    if (consumer.kind == JsonKind::object) print_consumer(context, consumer);
    for (const JsonValue& each : member(source, "collectors").items) print_collector(context, each);
    for (const JsonValue& each : member(source, "relays").items) print_relay(context, each);
  });
}

}  // namespace

int source_list(Context& context, const SourceArguments&) {
  // Queues of a directory without a server are seen by whoever opens them.
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", "/v1/sources"});
  if (!reply) return refuse(context, reply.error());
  const auto& sources = member(reply->value, "sources").items;
  print_items(context, *reply, sources, "source", [&] { return table_of(context, sources); });
  print_troubles(context, sources);
  if (sources.empty()) context.err << "There are no sources: no queue, and nothing has died.\n";
  return sources.empty() ? exit_nothing_matched : exit_ok;
}

int source_show(Context& context, const SourceArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", path_of(arguments)});
  if (!reply) return refuse(context, reply.error());
  print_source(context, reply->value);
  return exit_ok;
}

int source_pause(Context& context, const SourceArguments& arguments, bool paused) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply =
      ask_for(**client, {"POST", path_of(arguments, paused ? "pause" : "resume"), "{}"});
  if (!reply) return refuse(context, reply.error());
  print_one(context, reply->value, "source",
            [&] { context.out << arguments.source << (paused ? " is paused\n" : " goes on\n"); });
  return exit_ok;
}

int source_test(Context& context, const SourceArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"POST", path_of(arguments, "test"), "{}"});
  if (!reply) return refuse(context, reply.error());
  print_one(context, reply->value, "source", [&] {
    for (const JsonValue& each : member(reply->value, "checks").items) {
      context.out << (is_true(each, "ok") ? "ok    " : "fail  ") << printable(text_of(each, "text"))
                  << "\n";
    }
  });
  return is_true(reply->value, "works") ? exit_ok : exit_error;
}

int source_give_up(Context& context, const SourceArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto found = ask_for(**client, {"GET", path_of(arguments)});
  if (!found) return refuse(context, found.error());
  const std::uint64_t waiting = number_of(found->value, "waiting");
  if (waiting == 0) {
    context.err << "Nothing waits for " << printable(arguments.source) << ".\n";
    return exit_nothing_matched;
  }
  if (!arguments.yes) {
    context.err << waiting << " messages wait for " << printable(arguments.source)
                << ". With --yes they become dead letters; nothing was changed.\n";
    return exit_usage;
  }
  std::uint64_t dead = 0;
  while (true) {
    const auto reply = ask_for(**client, {"POST", path_of(arguments, "give-up"), "{}"});
    if (!reply) return refuse(context, reply.error());
    const std::uint64_t now = number_of(reply->value, "dead");
    dead += now;
    if (number_of(reply->value, "waiting") > 0 && now > 0) continue;
    print_one(context, reply->value, "source",
              [&] { context.out << dead << " are dead letters now\n"; });
    return exit_ok;
  }
}

}  // namespace dlo::cli
