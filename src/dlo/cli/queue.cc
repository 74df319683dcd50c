#include <algorithm>
#include <iostream>
#include <iterator>
#include <ostream>

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/broker/embedded/queue_check.h"
#include "dlo/broker/embedded/repair.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/core/duration.h"
#include "dlo/core/spelling.h"
#include "dlo/json/json.h"
#include "dlo/json/writer.h"

namespace dlo::cli {
namespace {

std::string directory(const Context& context) {
  return context.data + "/queues";
}

/// The queues of `context.data`, for a verb that is their only user.
Result<std::unique_ptr<EmbeddedQueues>> open(const Context& context) {
  EmbeddedOptions options;
  options.housekeeping = false;
  return EmbeddedQueues::open(directory(context), context.now, options);
}

/// The files of the queues, beside a server that works in them if there is one.
Result<std::unique_ptr<FileSystem>> open_to_look(const Context& context) {
  auto files = open_directory(directory(context), true);
  if (files) return files;
  return Error{
      files.error().code, files.error().where,
      files.error().detail + " No queues were found there. Name the data directory with --data."};
}

/// The same, and refused if somebody works in them: what is being written at this moment would look
/// like damage.
Result<std::unique_ptr<FileSystem>> open_at_rest(const Context& context, const char* where) {
  if (const auto owner = owner_of_directory(directory(context))) {
    return Error{Code::refused, where,
                 "process " + *owner + " works in " + directory(context) +
                     ", and what it is writing would look like damage. Stop it first, or look at "
                     "a copy of the directory. Nothing was read."};
  }
  return open_to_look(context);
}

/// A queue that exists; its settings stay as they are.
Result<std::unique_ptr<EmbeddedQueue>> find(EmbeddedQueues& queues, const std::string& name) {
  auto found = queues.find(name);
  if (found) return found;
  const auto names = queues.names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  return Error{Code::not_found, "cli.queue",
               names.empty()
                   ? "There is no queue " + in_quotes(name) + ": the directory has none yet."
                   : unknown_name("queue", name, known)};
}

std::string json_of(const std::string& name, const SourceStats& stats, std::uint64_t dead) {
  JsonWriter out;
  out.begin_object();
  out.member("queue", name);
  out.member("ready", stats.ready);
  out.member("delayed", stats.delayed);
  out.member("leased", stats.leased);
  out.member("held", stats.held);
  out.member("dead", dead);
  out.member("bytes", stats.bytes);
  out.member("published", stats.published);
  out.member("completed", stats.completed);
  out.member("dead_lettered", stats.dead_lettered);
  out.member("expired", stats.expired);
  out.member("purged", stats.purged);
  out.member("oldest", stats.oldest);
  out.key("paused").boolean(stats.paused);
  if (!stats.trouble.empty()) out.member("trouble", stats.trouble);
  out.end_object();
  return out.take();
}

Result<std::vector<MessagePtr>> dead_messages(EmbeddedQueue& queue, std::size_t limit) {
  auto dead = queue.dead_letters(limit);
  if (!dead) return dead.error();
  std::vector<MessagePtr> out;
  for (auto& each : *dead) out.push_back(std::move(each.message));
  return out;
}

void print_damages(Context& context, const std::vector<Damage>& damages) {
  for (const Damage& each : damages) {
    context.out << "DAMAGED  " << each.file << " at byte " << each.offset;
    if (each.size > 0) context.out << ", " << each.size << " bytes";
    context.out << ": " << each.what << "\n";
  }
}

}  // namespace

int queue_list(Context& context) {
  const auto queues = open(context);
  if (!queues) return fail(context, queues.error());
  Table table({{"QUEUE"},
               {"READY", Align::right},
               {"DELAYED", Align::right},
               {"BEHIND KEY", Align::right},
               {"DEAD", Align::right},
               {"BYTES", Align::right},
               {"OLDEST"},
               {"STATE"}});
  for (const std::string& name : (*queues)->names()) {
    auto queue = (*queues)->find(name);
    if (!queue) return fail(context, queue.error());
    const auto stats = (*queue)->stats(context.now);
    if (!stats) return fail(context, stats.error());
    if (context.format == Format::json || context.format == Format::ndjson) {
      context.out << json_of(name, *stats, (*queue)->dead()) << "\n";
    }
    table.add({name, std::to_string(stats->ready), std::to_string(stats->delayed),
               std::to_string(stats->held), std::to_string((*queue)->dead()),
               std::to_string(stats->bytes),
               stats->oldest ? relative(*stats->oldest, context.now) : "-",
               stats->paused ? "paused" : ""});
  }
  if (table.empty()) {
    context.err << "There are no queues in " << directory(context) << ".\n";
    return exit_nothing_matched;
  }
  if (context.format == Format::csv) {
    table.print_csv(context.out);
  } else if (context.format != Format::json && context.format != Format::ndjson) {
    table.print(context.out, context.width);
  }
  return exit_ok;
}

int queue_peek(Context& context, const QueueArguments& arguments) {
  const auto queues = open(context);
  if (!queues) return fail(context, queues.error());
  const auto queue = find(**queues, arguments.queue);
  if (!queue) return fail(context, queue.error());
  const auto messages =
      arguments.dead ? dead_messages(**queue, arguments.limit) : (*queue)->peek(arguments.limit);
  if (!messages) return fail(context, messages.error());
  if (messages->empty()) {
    context.err << "Nothing waits in \"" << arguments.queue << "\".\n";
    return exit_nothing_matched;
  }
  if (context.format == Format::json || context.format == Format::ndjson) {
    for (const auto& each : *messages) context.out << to_json(*each) << "\n";
    return exit_ok;
  }
  Table table({{"ID"},
               {"TYPE"},
               {"KEY"},
               {"ENQUEUED"},
               {"BYTES", Align::right},
               {"PAYLOAD", Align::left, true}});
  for (const auto& each : *messages) {
    const std::string payload = each->payload.value_or("");
    table.add({each->id, each->event_type, each->key, relative(each->enqueued_at, context.now),
               std::to_string(payload.size()), printable(payload.substr(0, 200))});
  }
  table.print(context.out, context.width);
  return exit_ok;
}

int queue_send(Context& context, const QueueArguments& arguments) {
  const auto queues = open(context);
  if (!queues) return fail(context, queues.error());
  auto queue = (*queues)->find(arguments.queue);
  if (!queue) {  // made on first use
    SourceOptions options;
    options.source = arguments.queue;
    queue = (*queues)->declare(options);
  }
  if (!queue) return fail(context, queue.error());
  Millis delay{0};
  if (!arguments.delay.empty()) {
    const auto parsed = parse_duration(arguments.delay);
    if (!parsed) return fail(context, parsed.error());
    delay = *parsed;
  }
  auto message = std::make_shared<Message>();
  message->id = arguments.id;
  message->event_type = arguments.type;
  message->key = arguments.key;
  message->payload = arguments.payload == "-"
                         ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                         : arguments.payload;
  Publication publication;
  publication.message = std::move(message);
  publication.delay = delay;
  const auto sent = (*queue)->publish({&publication, 1}, context.now);
  if (!sent) return fail(context, sent.error());
  context.out << "sent to \"" << arguments.queue << "\" as " << sent->front().position->partition
              << "/" << sent->front().position->offset << "\n";
  return exit_ok;
}

int queue_purge(Context& context, const QueueArguments& arguments) {
  const auto queues = open(context);
  if (!queues) return fail(context, queues.error());
  const auto queue = find(**queues, arguments.queue);
  if (!queue) return fail(context, queue.error());
  const auto stats = (*queue)->stats(context.now);
  if (!stats) return fail(context, stats.error());
  const auto waiting = stats->ready + stats->delayed + stats->held;
  if (!arguments.yes) {
    context.out << "This would remove " << waiting << " messages (" << stats->bytes
                << " bytes) from \"" << arguments.queue << "\" for good. To do it: dlo queue purge "
                << arguments.queue << " --yes\n";
    return exit_ok;
  }
  const auto purged = (*queue)->purge();
  if (!purged) return fail(context, purged.error());
  context.out << "removed " << *purged << " messages from \"" << arguments.queue << "\"\n";
  return exit_ok;
}

int queue_pause(Context& context, const QueueArguments& arguments, bool paused) {
  const auto queues = open(context);
  if (!queues) return fail(context, queues.error());
  const auto queue = find(**queues, arguments.queue);
  if (!queue) return fail(context, queue.error());
  const auto done = paused ? (*queue)->pause() : (*queue)->resume();
  if (!done) return fail(context, done.error());
  context.out << "\"" << arguments.queue << "\" " << (paused ? "is paused" : "goes on") << "\n";
  return exit_ok;
}

int queue_move(Context& context, const QueueArguments& arguments) {
  const auto queues = open(context);
  if (!queues) return fail(context, queues.error());
  const auto from = find(**queues, arguments.queue);
  if (!from) return fail(context, from.error());
  const auto to = find(**queues, arguments.target);
  if (!to) return fail(context, to.error());
  const auto moved = (*from)->move_to(**to);
  if (!moved) return fail(context, moved.error());
  context.out << "moved " << *moved << " messages from \"" << arguments.queue << "\" to \""
              << arguments.target << "\"\n";
  return exit_ok;
}

int queue_repair(Context& context, const QueueArguments& arguments) {
  auto files = open_at_rest(context, "cli.repair");
  if (files && arguments.yes) files = open_directory(directory(context));  // and keep others out
  if (!files) return fail(context, files.error());
  const auto repair = repair_queues(**files, context.now, arguments.yes);
  if (!repair) return fail(context, repair.error());
  context.out << describe(*repair, arguments.yes);
  if (repair->damages.empty()) return exit_ok;
  if (!arguments.yes) return exit_error;
  return repair->lost.empty() && repair->unknown_records == 0 ? exit_ok : exit_partial;
}

int queue_fsck(Context& context) {
  const auto files = open_at_rest(context, "cli.fsck");
  if (!files) return fail(context, files.error());
  const auto check = check_queues(**files);
  if (!check) return fail(context, check.error());
  context.out << "journal   " << check->segments << " segments, " << check->groups << " groups, "
              << check->records << " records, " << check->bytes << " bytes; "
              << (check->clean ? "stopped cleanly" : "not stopped cleanly, or still at work")
              << "\n";
  if (check->unfinished > 0) {
    context.out << "          the last write was not finished: " << check->unfinished
                << " bytes that nobody was told of\n";
  }
  for (const auto& queue : check->queues) {
    context.out << "queue     " << printable(queue.name) << ": " << queue.waiting << " waiting, "
                << queue.dead << " dead";
    if (queue.unreadable > 0) context.out << ", " << queue.unreadable << " UNREADABLE";
    context.out << "\n";
  }
  print_damages(context, check->damages);
  for (const Damage& each : check->quarantined) {
    context.out << "SET ASIDE " << each.file << " at byte " << each.offset << ", " << each.size
                << " bytes: " << each.what << "\n";
  }
  if (check->damages.empty()) {
    context.out << "ok        " << check->verified << " messages read and verified\n";
    return exit_ok;
  }
  context.out << "found " << check->damages.size() << " damaged places; " << check->verified
              << " messages are whole. Nothing was changed. Restore the files from a backup if "
                 "there is one; or run 'dlo queue repair' to see what is affected and to set the "
                 "damaged bytes aside. 'dlo queue dump -o ndjson' prints what can be read.\n";
  return exit_error;
}

int queue_dump(Context& context, const QueueArguments& arguments) {
  const auto files = open_to_look(context);
  if (!files) return fail(context, files.error());
  if (const auto owner = owner_of_directory(directory(context))) {
    context.err << "dlo: process " << *owner
                << " works here: what it is writing at this moment may look damaged.\n";
  }
  const bool json = context.format == Format::json || context.format == Format::ndjson;
  const auto damages = dump_queues(**files, [&](const DumpedRecord& record) {
    if (!arguments.queue.empty() && record.queue != arguments.queue) return;
    if (json) {
      if (record.message) context.out << to_json(*record.message) << "\n";
      return;
    }
    context.out << record.sequence << "  " << record.type
                << (record.queue.empty() ? "" : "  " + printable(record.queue)) << "  "
                << printable(record.text) << "\n";
  });
  if (!damages) return fail(context, damages.error());
  for (const Damage& each : *damages) {
    context.err << "dlo: " << each.file << " at byte " << each.offset << ": " << each.what << "\n";
  }
  return damages->empty() ? exit_ok : exit_partial;
}

}  // namespace dlo::cli
