#include <filesystem>
#include <ostream>
#include <system_error>

#include "dlo/broker/embedded/queue_check.h"
#include "dlo/broker/embedded/repair.h"
#include "dlo/cli/table.h"
#include "dlo/cli/verbs.h"
#include "dlo/json/json.h"

namespace dlo::cli {
namespace {

/// Of a data directory, or, since a program may have a `Queue` of its own, one of queues alone.
std::string directory(const Context& context) {
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator(context.data, none)) {
    if (segment_number(each.path().filename().string())) return context.data;
  }
  return context.data + "/queues";
}

/// The files of the queues, beside a server that works in them if there is one.
Result<std::unique_ptr<FileSystem>> open_to_look(const Context& context) {
  auto files = open_directory(directory(context), true);
  if (files) return files;
  return Error{files.error().code, files.error().where,
               files.error().detail +
                   " No queues were found there. Name the data directory with --data, or the "
                   "directory of a Queue alone."};
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

void print_damages(Context& context, const std::vector<Damage>& damages) {
  for (const Damage& each : damages) {
    context.out << "DAMAGED  " << each.file << " at byte " << each.offset;
    if (each.size > 0) context.out << ", " << each.size << " bytes";
    context.out << ": " << each.what << "\n";
  }
}

/// Every line that has a message says what became of it.
void print_record(Context& context, const DumpedRecord& record) {
  if (context.format == Format::json || context.format == Format::ndjson) {
    if (record.message == nullptr) return;
    std::string text = to_json(*record.message);
    text.pop_back();  // the closing bracket
    context.out << text << ",\"state\":\"" << record.state << "\""
                << (record.in_damage ? ",\"in_damage\":true" : "") << "}\n";
    return;
  }
  context.out << record.sequence << "  " << record.type
              << (record.queue.empty() ? "" : "  " + printable(record.queue))
              << (record.state.empty() ? "" : "  " + record.state) << "  " << printable(record.text)
              << (record.in_damage ? "  (out of a damaged group)" : "") << "\n";
}

}  // namespace

int queue_repair(Context& context, const QueueArguments& arguments) {
  auto files = open_at_rest(context, "cli.repair");
  if (files && arguments.yes) files = open_directory(directory(context));  // and keep others out
  if (!files) return fail(context, files.error());
  const auto repair = repair_queues(**files, context.now, arguments.yes);
  if (!repair) return fail(context, repair.error());
  context.out << describe(*repair, arguments.yes);
  if (repair->damages.empty()) return exit_ok;
  if (!arguments.yes) return exit_error;
  const bool all = repair->lost.empty() && repair->damaged.empty() && repair->unknown_records == 0;
  return all ? exit_ok : exit_partial;
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
    context.out << "          the last " << check->unfinished
                << " bytes are not whole and will be cut off: a write that a crash interrupted, "
                   "which nobody was told of; or, if the disk was damaged afterwards, what was "
                   "acknowledged last\n";
    if (check->unfinished_records > 0) {
      context.out << "          " << check->unfinished_records
                  << " whole records lie behind the first of these bytes and will be cut off with "
                     "them: no sync is known that covers what comes before. Opening leaves a copy "
                     "beside the journal; 'dlo queue dump' shows them until then\n";
    }
  }
  std::uint64_t unreadable = 0;
  for (const auto& queue : check->queues) {
    unreadable += queue.unreadable;
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
    if (unreadable > 0) {
      context.out << "          " << unreadable
                  << " more cannot be read, as a repair has told: each is handed out as "
                     "undecodable once and is a dead letter then. There is nothing to repair.\n";
    }
    return check->unfinished == 0 && unreadable == 0 ? exit_ok : exit_partial;
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
  const auto damages = dump_queues(**files, [&](const DumpedRecord& record) {
    const bool wanted = arguments.queue.empty() || record.queue == arguments.queue;
    if (wanted && (arguments.all || record.there)) print_record(context, record);
  });
  if (!damages) return fail(context, damages.error());
  for (const Damage& each : *damages) {
    context.err << "dlo: " << each.file << " at byte " << each.offset << ": " << each.what << "\n";
  }
  return damages->empty() ? exit_ok : exit_partial;
}

}  // namespace dlo::cli
