#include "dlo/broker/embedded/queue_check.h"

#include <algorithm>
#include <utility>

#include "dlo/broker/embedded/checkpoint.h"
#include "dlo/broker/embedded/holdings.h"
#include "dlo/broker/embedded/message_check.h"
#include "dlo/broker/embedded/message_fates.h"
#include "dlo/broker/embedded/records.h"
#include "dlo/broker/embedded/replay.h"
#include "dlo/core/sealed.h"

namespace dlo {
namespace {

using namespace embedded;

const char* name_of(RecordType type) {
  switch (type) {
    case RecordType::born:
      return "born";
    case RecordType::queue:
      return "queue";
    case RecordType::published:
      return "published";
    case RecordType::relocated:
      return "relocated";
    case RecordType::state:
      return "state";
    case RecordType::claimed:
      return "claimed";
    case RecordType::started:
      return "started";
    case RecordType::completed:
      return "completed";
    case RecordType::removed:
      return "removed";
    case RecordType::returned:
      return "returned";
    case RecordType::purged:
      return "purged";
    case RecordType::key_freed:
      return "key freed";
    case RecordType::paused:
      return "paused";
    case RecordType::moved:
      return "moved";
    case RecordType::redriven:
      return "redriven";
    case RecordType::clock_set:
      return "clock set";
  }
  return "unknown";
}

std::string slots_text(const std::vector<SlotNumber>& slots) {
  std::string text = std::to_string(slots.size()) + (slots.size() == 1 ? " slot:" : " slots:");
  for (std::size_t i = 0; i < slots.size() && i < 8; ++i) text += " " + std::to_string(slots[i]);
  return text + (slots.size() > 8 ? " …" : "");
}

/// Turns records into what people can read.
class Dumper {
 public:
  Dumper(const FileSystem& files, MessageFates& fates, const Inspection& journal,
         const std::function<void(const DumpedRecord&)>& each)
      : files_(files), fates_(fates), journal_(journal), each_(each) {}

  void learn_names(Holdings& holdings) {
    for (std::size_t i = 0; i < holdings.queue_count(); ++i) {
      const QueueState* queue = holdings.queue(static_cast<std::uint16_t>(i));
      queues_.push_back(queue != nullptr ? queue->options().source : "");
    }
  }

  void operator()(const Entry& entry, bool unfinished = false) {
    DumpedRecord out;
    out.sequence = entry.sequence;
    out.file = files_.describe(segment_file(entry.location.segment));
    out.offset = entry.location.offset;
    out.in_damage = journal_.is_damaged(entry.location);
    const auto type = static_cast<RecordType>(entry.type);
    out.type = name_of(type);
    if (type == RecordType::published || type == RecordType::relocated) {
      message(entry, out);
    } else if (type == RecordType::state) {
      state(entry, out);
    } else {
      small(type, entry, out);
    }
    if (unfinished && out.message != nullptr) {
      out.state = "unfinished";
      out.there = true;
    }
    each_(out);
  }

 private:
  std::string queue_name(std::uint16_t number) const {
    return number < queues_.size() ? queues_[number] : std::to_string(number);
  }

  void message(const Entry& entry, DumpedRecord& out) {
    const auto stored = decode_published(entry.body);
    if (!stored) return;
    out.queue = queue_name(stored->tail.queue);
    auto message = decode_message(*stored);
    if (message == nullptr) return;
    const auto found = fates_.of(entry.sequence);
    out.state = name_of(found.fate);
    out.there = is_there(found.fate);
    if (!found.queue.empty()) out.queue = found.queue;
    message->source = out.queue;
    out.text = "slot " + std::to_string(stored->tail.slot) + ", id \"" + message->id + "\", " +
               std::to_string(unsealed_size(stored->payload)) + " bytes";
    if (is_sealed(stored->payload))
      out.text += ", encrypted with " + to_string(key_of(stored->payload));
    if (stored->tail.keyed) out.text += ", key \"" + message->key + "\"";
    out.message = std::move(message);
  }

  static void state(const Entry& entry, DumpedRecord& out) {
    const auto state = decode_state(entry.body);
    if (!state) return;
    out.text = "slot " + std::to_string(state->slot) + ", " + print(state->state.counters);
    if (state->dead) out.text += ", dead";
    const std::string& error = state->state.last_error;
    if (!error.empty()) {
      out.text += ", error: " + (is_sealed(std::string_view(error)) ? "(encrypted)" : error);
    }
  }

  void small(RecordType type, const Entry& entry, DumpedRecord& out) {
    ByteReader in(entry.body);
    if (type == RecordType::queue) {
      const auto queue = decode_queue(entry.body);
      if (!queue) return;
      if (queues_.size() <= queue->number) queues_.resize(queue->number + 1U);
      queues_[queue->number] = out.queue = queue->options.source;
      out.text = "number " + std::to_string(queue->number);
    } else if (type == RecordType::claimed) {
      out.text = slots_text(decode_slots(in));
    } else if (type == RecordType::started || type == RecordType::completed) {
      in.moment();
      out.text = slots_text(decode_slots(in));
    } else if (type == RecordType::removed) {
      std::vector<SlotNumber> slots;
      for (const Removal& each : decode_removals(entry.body).value_or(Removals{}).all) {
        slots.push_back(each.slot);
      }
      out.text = slots_text(slots);
    } else if (type == RecordType::returned) {
      std::vector<SlotNumber> slots;
      for (const Return& each : decode_returns(entry.body).value_or(std::vector<Return>{})) {
        slots.push_back(each.slot);
      }
      out.text = slots_text(slots);
    } else if (type == RecordType::clock_set) {
      out.text = "by " + std::to_string(static_cast<std::int64_t>(in.u64())) + " ms";
    } else if (type != RecordType::born) {
      out.queue = queue_name(in.u16());
    }
  }

  const FileSystem& files_;
  MessageFates& fates_;
  const Inspection& journal_;
  const std::function<void(const DumpedRecord&)>& each_;
  std::vector<std::string> queues_;
};

}  // namespace

Result<QueueCheck> check_queues(FileSystem& files) {
  QueueCheck check;
  Holdings holdings;
  bool known = true;  // what is held can be worked out
  const auto checkpoint = load_checkpoint(files, holdings);
  if (!checkpoint && checkpoint.error().code != Code::corrupt) return checkpoint.error();
  if (!checkpoint) {
    check.damages.push_back({files.describe("checkpoint"), 0, 0, checkpoint.error().detail});
    known = false;
  }
  check.checkpoint = checkpoint && checkpoint->has_value();
  if (check.checkpoint && (*checkpoint)->behind > 0) {
    const LoadedCheckpoint& whole = **checkpoint;
    check.damages.push_back({files.describe("checkpoint"), whole.size - whole.behind, whole.behind,
                             "There are bytes behind the end of the checkpoint. It is whole, and "
                             "the next one will be without them."});
  }
  const std::uint64_t from = check.checkpoint ? (*checkpoint)->position.sequence : 0;
  Replay replay(holdings);
  Inspection journal(files);
  if (check.checkpoint) journal.goes_on_from = (*checkpoint)->position;
  const auto walked = journal.walk([&](const Entry& entry) -> Result<void> {
    if (!known || entry.sequence < from) return {};
    const auto applied = replay.apply(entry);
    if (applied) return {};
    known = false;
    check.damages.push_back({files.describe(segment_file(entry.location.segment)),
                             entry.location.offset, 0, applied.error().detail});
    return {};
  });
  if (!walked) return walked.error();
  check.segments = journal.segments;
  check.groups = journal.groups;
  check.records = journal.records;
  check.bytes = journal.bytes;
  check.clean = journal.sealed;
  check.unfinished = journal.unfinished;
  check.unfinished_records = journal.unfinished_records;
  const auto needed = check.checkpoint ? (*checkpoint)->position.segment : 1;
  const auto gone = missing_segments(files, needed, check.checkpoint);
  if (!gone) return gone.error();
  for (const MissingSegments& each : *gone) {
    check.damages.push_back(describe_missing(files, each));
  }
  const bool is_gone = !gone->empty() && gone->front().first == needed;
  if (check.checkpoint && journal.end_position.segment < needed && !is_gone) {
    check.damages.push_back({files.describe(segment_file(needed)), 0, 0,
                             "The segment is damaged from its header on.", needed});
  }
  if (check.checkpoint) {
    auto cut = cut_short(files, (*checkpoint)->position);
    if (!cut) return cut.error();
    if (*cut) check.damages.push_back(std::move(**cut));
  }
  check.damages.insert(check.damages.end(), journal.damages.begin(), journal.damages.end());
  check.quarantined = journal.quarantined;
  const auto told = BrokenList::read(files);
  if (!told) return told.error();
  if (known) check_messages(holdings, journal, *told, check);
  if (journal.unread) return not_given(*journal.unread);
  return check;
}

Result<std::vector<Damage>> dump_queues(FileSystem& files,
                                        const std::function<void(const DumpedRecord&)>& each) {
  auto fates = MessageFates::read(files);
  if (!fates) return fates.error();
  Inspection journal(files);
  Dumper dump(files, *fates, journal, each);
  Holdings holdings;  // for the names of queues whose records are gone
  if (const auto loaded = load_checkpoint(files, holdings); loaded) {
    dump.learn_names(holdings);
    if (*loaded) journal.goes_on_from = (*loaded)->position;
  }
  journal.on_unfinished = [&](const Entry& entry) { dump(entry, true); };
  const auto walked = journal.walk([&](const Entry& entry) -> Result<void> {
    dump(entry);
    return {};
  });
  if (!walked) return walked.error();
  const auto& hidden = fates->hidden();
  journal.read(hidden, [&](std::size_t i, const Result<std::string_view>& record) {
    const auto stored = record ? decode_published(*record) : std::nullopt;
    if (!stored) return;
    const auto type = stored->tail.position ? RecordType::relocated : RecordType::published;
    dump({hidden[i].sequence, static_cast<std::uint8_t>(type), *record, hidden[i].location});
  });
  return std::move(journal.damages);
}

}  // namespace dlo
