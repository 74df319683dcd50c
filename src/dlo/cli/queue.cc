#include <istream>
#include <iterator>
#include <ostream>
#include <string>

#include "dlo/cli/client.h"
#include "dlo/cli/job_run.h"
#include "dlo/cli/output.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/duration.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

std::string path_of(const std::string& queue, const char* act = nullptr) {
  Address address("/v1/queues");
  address.step(queue);
  if (act != nullptr) address.step(act);
  return address.text();
}

Table queue_table(const Context& context, const std::vector<JsonValue>& queues) {
  const bool wide = context.format == Format::wide || context.format == Format::csv;
  std::vector<Column> columns{{"QUEUE"},
                              {"READY", Align::right},
                              {"DELAYED", Align::right},
                              {"LEASED", Align::right},
                              {"BEHIND KEY", Align::right},
                              {"DEAD", Align::right},
                              {"BYTES", Align::right},
                              {"OLDEST"},
                              {"STATE", Align::left, false, colour_of_status}};
  if (wide) columns.insert(columns.end(), {{"IN/S", Align::right}, {"OUT/S", Align::right}});
  Table table(std::move(columns));
  for (const JsonValue& queue : queues) {
    const std::string oldest = when(context, time_of(queue, "oldest"));
    std::vector<std::string> row{text_of(queue, "queue"),
                                 text_of(queue, "ready"),
                                 text_of(queue, "delayed"),
                                 text_of(queue, "leased"),
                                 text_of(queue, "held"),
                                 text_of(queue, "dead"),
                                 text_of(queue, "bytes"),
                                 oldest.empty() && is_for_people(context) ? "-" : oldest,
                                 is_true(queue, "paused") ? "paused" : ""};
    if (wide) {
      row.push_back(text_of(queue, "in_per_second"));
      row.push_back(text_of(queue, "out_per_second"));
    }
    table.add(std::move(row));
  }
  return table;
}

Table message_table(const Context& context, const std::vector<JsonValue>& messages) {
  // Ids, types and keys are the senders' own, and as long as they like.
  Table table({{"ID", Align::left, true},
               {"TYPE", Align::left, true},
               {"KEY", Align::left, true},
               {"ENQUEUED"},
               {"BYTES", Align::right},
               {"PAYLOAD", Align::left, true}});
  for (const JsonValue& each : messages) {
    const std::string payload = bytes_of(each, "payload").value_or("");
    table.add({text_of(each, "id"), text_of(each, "event_type"), text_of(each, "key"),
               when(context, time_of(each, "enqueued_at")), std::to_string(payload.size()),
               printable(payload.substr(0, 200))});
  }
  return table;
}

Result<Reply> act_on(Context& context, const QueueArguments& arguments, const char* act,
                     std::string body = "{}") {
  const auto client = connect(context, Need::act);
  if (!client) return client.error();
  return ask_for(**client, {"POST", path_of(arguments.queue, act), std::move(body)});
}

/// Whoever opens the files of a queue holds its leases, and lets go of them when it ends.
Error needs_server(const Context& context) {
  return {Code::unavailable, "cli.queue",
          "A lease lasts as long as the program that works in '" + context.data +
              "', and this one ends at once: start a server (dlo serve --data " + context.data +
              "), then receive and settle. To look without taking: dlo queue peek."};
}

}  // namespace

int queue_list(Context& context) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", "/v1/queues"});
  if (!reply) return refuse(context, reply.error());
  const auto& queues = member(reply->value, "queues").items;
  print_items(context, *reply, queues, "queue", [&] { return queue_table(context, queues); });
  if (queues.empty()) context.err << "There are no queues.\n";
  return queues.empty() ? exit_nothing_matched : exit_ok;
}

int queue_peek(Context& context, const QueueArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto reply = ask_for(**client, {"GET", Address(path_of(arguments.queue, "messages"))
                                                   .with("limit", std::to_string(arguments.limit))
                                                   .text()});
  if (!reply) return refuse(context, reply.error());
  const auto& messages = member(reply->value, "messages").items;
  print_items(context, *reply, messages, "id", [&] { return message_table(context, messages); });
  if (messages.empty()) context.err << "Nothing waits in \"" << arguments.queue << "\".\n";
  return messages.empty() ? exit_nothing_matched : exit_ok;
}

int queue_receive(Context& context, const QueueArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  if (!(*client)->is_server()) return refuse(context, needs_server(context));
  Address address(path_of(arguments.queue, "receive"));
  address.with("limit", std::to_string(arguments.limit));
  Ask ask{"POST", address.text()};
  ask.headers.push_back({"Accept", "application/x-ndjson"});
  const auto handed = ask_for_bytes(**client, ask);
  if (!handed) return refuse(context, handed.error());
  // One line for each message, with its lease: `dlo queue settle` and programs go on from there.
  context.out << handed->body;
  if (handed->body.empty()) context.err << "Nothing is ready in \"" << arguments.queue << "\".\n";
  return handed->body.empty() ? exit_nothing_matched : exit_ok;
}

int queue_settle(Context& context, const QueueArguments& arguments) {
  JsonWriter json;
  json.begin_object().member("lease", arguments.id).member("outcome", arguments.outcome);
  // What a person says is one thing; each outcome calls it by another name.
  if (arguments.outcome == "dead_letter") {
    json.member("reason", arguments.reason.empty() ? "Rejected" : arguments.reason);
    if (!arguments.error.empty()) json.member("description", arguments.error);
  } else if (arguments.outcome == "abandon") {
    if (!arguments.error.empty()) json.member("error_message", arguments.error);
  } else if (!arguments.error.empty()) {
    json.member("error", arguments.error);
  }
  json.end_object();
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  if (!(*client)->is_server()) return refuse(context, needs_server(context));
  const auto reply = ask_for(**client, {"POST", path_of(arguments.queue, "settle"), json.take()});
  if (!reply) return refuse(context, reply.error());
  print_done(context, reply->value, arguments.id, [&] {
    const std::string fate = text_of(reply->value, "fate");
    const std::string letter = text_of(reply->value, "dead_letter");
    context.out << fate << (letter.empty() ? "" : "  dead letter " + letter) << "\n";
  });
  return exit_ok;
}

int queue_declare(Context& context, const QueueArguments& arguments) {
  const auto client = connect(context, Need::make);
  if (!client) return refuse(context, client.error());
  const auto made = ask_for(**client, {"PUT", path_of(arguments.queue), arguments.settings});
  if (!made) return refuse(context, made.error());
  if (const auto said = text_of(made->value, "caution"); !said.empty()) {
    context.err << "dlo: " << said << "\n";
  }
  print_one(context, made->value, "queue", [&] {
    context.out << "\"" << arguments.queue << "\" is declared: profile "
                << text_of(made->value, "profile") << ", leases of "
                << text_of(made->value, "lease_ms") << " ms\n";
  });
  return exit_ok;
}

int queue_send(Context& context, const QueueArguments& arguments) {
  const auto client = connect(context, Need::make);
  if (!client) return refuse(context, client.error());
  Address address(path_of(arguments.queue, "messages"));
  address.with_some("id", arguments.id)
      .with_some("type", arguments.type)
      .with_some("key", arguments.key)
      .with_some("priority", arguments.priority)
      .with_some("dedupe_id", arguments.dedupe_id);
  if (!arguments.delay.empty()) {
    const auto delay = parse_duration(arguments.delay);
    if (!delay) return refuse(context, delay.error());
    address.with("delay_ms", std::to_string(delay->count()));
  }
  Ask ask{"POST", address.text(), arguments.payload, "application/octet-stream"};
  if (arguments.payload == "-" && context.in != nullptr) {
    ask.body = std::string(std::istreambuf_iterator<char>(*context.in), {});
  }
  const auto sent = ask_for(**client, ask);
  if (!sent) return refuse(context, sent.error());
  const bool duplicate = number_of(sent->value, "sent") == 0;
  print_done(context, sent->value, arguments.queue, [&] {
    context.out << (duplicate ? "was sent before to \"" : "sent to \"") << arguments.queue
                << "\"\n";
  });
  return exit_ok;
}

int queue_purge(Context& context, const QueueArguments& arguments) {
  const auto client = connect(context, Need::act);
  if (!client) return refuse(context, client.error());
  const auto queue = ask_for(**client, {"GET", path_of(arguments.queue)});
  if (!queue) return refuse(context, queue.error());
  const auto waiting = number_of(queue->value, "ready") + number_of(queue->value, "delayed") +
                       number_of(queue->value, "held");
  if (!arguments.yes) {
    context.out << "This would remove " << waiting << " messages ("
                << text_of(queue->value, "bytes") << " bytes) from \"" << arguments.queue
                << "\" for good. To do it: dlo queue purge " << arguments.queue << " --yes\n";
    if (!context.asks) return exit_ok;
    if (!confirmed(context, false, "Remove them now?")) return exit_ok;
  }
  JsonWriter json;
  json.begin_object().member("confirm", arguments.queue).end_object();
  const auto purged = ask_for(**client, {"POST", path_of(arguments.queue, "purge"), json.take()});
  if (!purged) return refuse(context, purged.error());
  print_done(context, purged->value, arguments.queue, [&] {
    context.out << "removed " << text_of(purged->value, "purged") << " messages from \""
                << arguments.queue << "\"\n";
  });
  return exit_ok;
}

int queue_pause(Context& context, const QueueArguments& arguments, bool paused) {
  const auto reply = act_on(context, arguments, paused ? "pause" : "resume");
  if (!reply) return refuse(context, reply.error());
  print_done(context, reply->value, arguments.queue, [&] {
    context.out << "\"" << arguments.queue << "\" " << (paused ? "is paused" : "goes on") << "\n";
  });
  return exit_ok;
}

int queue_move(Context& context, const QueueArguments& arguments) {
  JsonWriter json;
  json.begin_object().member("to", arguments.target).end_object();
  const auto reply = act_on(context, arguments, "move", json.take());
  if (!reply) return refuse(context, reply.error());
  print_done(context, reply->value, arguments.queue, [&] {
    context.out << "moved " << text_of(reply->value, "moved") << " messages from \""
                << arguments.queue << "\" to \"" << arguments.target << "\"\n";
  });
  return exit_ok;
}

}  // namespace dlo::cli
