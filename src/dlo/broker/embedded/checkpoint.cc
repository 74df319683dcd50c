#include "dlo/broker/embedded/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "dlo/broker/embedded/checkpoint_chunks.h"
#include "dlo/broker/embedded/slot_pack.h"
#include "dlo/journal/crc32c.h"

namespace dlo::embedded {
namespace {

using namespace checkpoint_format;

void read_totals(SourceStats& totals, ByteReader& in) {
  for (auto* count : {&totals.published, &totals.completed, &totals.dead_lettered, &totals.expired,
                      &totals.purged}) {
    *count = in.number();
  }
  totals.paused = in.u8() != 0;
}

/// Keys with followers or notes: to be restored when the slots are there.
struct KeysOfQueue {
  std::uint16_t queue = 0;
  std::vector<SlotNumber> rings;
  std::vector<KeyNote> notes;
};

bool read_queue(Holdings& holdings, ByteReader& in, KeysOfQueue& keys) {
  const auto record = decode_queue(in.text());
  if (!record) return false;
  QueueState& queue = holdings.declare(*record);
  read_totals(queue.totals, in);
  for (Chain* chain : {&queue.all, &queue.dead}) {
    chain->oldest = in.u32();
    chain->newest = in.u32();
  }
  const bool moving = in.u8() != 0;
  const auto moving_to = in.u16();
  if (moving) queue.moving_to = moving_to;
  keys.queue = record->number;
  const auto rings = in.number();
  for (std::uint64_t i = 0; i < rings && in.ok(); ++i) keys.rings.push_back(in.u32());
  const auto notes = in.number();
  for (std::uint64_t i = 0; i < notes && in.ok(); ++i) {
    KeyNote& note = keys.notes.emplace_back();
    note.key = in.u64();
    note.last = in.u32();
    note.on_hold = in.u8() != 0;
    if (note.key == 0) return false;
  }
  const auto generations = in.number();  // of version 3
  for (std::uint64_t i = 0; i < generations && in.ok(); ++i) {
    if (!queue.dedupe.load(in)) return false;
  }
  return in.ok();
}

Error damaged(const FileSystem& files, std::uint64_t offset) {
  return Error{Code::corrupt, "embedded.open",
               files.describe(file_name) + " at byte " + std::to_string(offset) +
                   ": the checkpoint is damaged. It stands for journal segments that are gone, so "
                   "the queues cannot be read without it. Nothing was changed. Restore the "
                   "directory from a backup if there is one; or run 'dlo queue repair', which "
                   "makes a new checkpoint from what the segments hold, says what is affected "
                   "and, with --yes, puts it in place: messages may then be delivered again."};
}

/// No flip of one bit makes today's version a later one.
bool is_newer(std::string_view head) {
  return head.starts_with(magic.substr(0, 7)) && head[7] > magic[7] && head[7] <= '9';
}

Error newer(const FileSystem& files, char version) {
  return Error{Code::refused, "embedded.open",
               files.describe(file_name) + ": the checkpoint has version " + version +
                   " and this dlo knows versions up to " + magic[7] +
                   ". A newer dlo has written it: use that one. Nothing was changed, and there is "
                   "nothing to repair."};
}

struct LeaseNote {
  SlotNumber slot;
  bool started;
  TimePoint started_at;
};

/// A checkpoint while it is read.
class Loader {
 public:
  Loader(FileSystem& files, Holdings& holdings) : files_(files), holdings_(holdings) {}

  Result<std::optional<LoadedCheckpoint>> run();
  /// Only the description, if it is whole.
  bool describe_only();
  [[nodiscard]] std::uint64_t incarnation() const noexcept { return loaded_.incarnation; }

 private:
  struct Header {
    Chunk kind = Chunk::end;
    std::uint32_t size = 0;
  };
  Result<void> open();
  Result<Header> read_chunk(std::uint64_t at, std::string& bytes);
  bool take(Chunk kind, std::string_view bytes);
  bool describe(std::string_view bytes);
  bool place(Chunk kind, std::string_view bytes);
  bool place_keys(std::string_view bytes);
  bool place_expiries(std::string_view bytes);
  [[nodiscard]] bool links_hold() const;
  bool restore_keys();
  bool arrivals(std::string_view bytes);
  bool remember(std::string_view bytes);
  void finish();

  static constexpr std::size_t header_size = 9;
  FileSystem& files_;
  Holdings& holdings_;
  std::unique_ptr<File> file_;
  LoadedCheckpoint loaded_;
  SlotNumber slots_ = 0;
  SlotNumber next_ = 0;
  std::vector<LeaseNote> leases_;
  std::vector<SlotNumber> arrivals_;
  std::vector<KeysOfQueue> keys_;
  std::vector<SlotNumber> heads_;  // of keys
  bool current_ = false;           // of today's version
  bool complete_ = false;
};

bool Loader::describe(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.u32() != sizeof(Slot)) return false;
  JournalPosition& position = loaded_.position;
  position.sequence = in.u64();
  position.segment = in.u64();
  position.offset = in.u64();
  position.group = in.u64();
  position.previous_crc = in.u32();
  loaded_.incarnation = in.u64();
  const auto latest = in.moment();
  slots_ = in.u32();
  const auto segments = in.number();
  for (std::uint64_t i = 0; i < segments && in.ok(); ++i) {
    const auto segment = in.u32();
    SegmentUse use;
    use.base = in.u64();
    (void)in.number();  // how many records it ever had, once
    use.records = in.number();
    use.bytes = in.number();
    holdings_.segments().restore(segment, use);
  }
  const auto leases = in.number();
  for (std::uint64_t i = 0; i < leases && in.ok(); ++i) {
    const auto slot = in.u32();
    const bool started = in.u8() != 0;
    leases_.push_back({slot, started, in.moment()});
  }
  const auto queues = in.number();
  for (std::uint64_t i = 0; i < queues && in.ok(); ++i) {
    if (!read_queue(holdings_, in, keys_.emplace_back())) return false;
  }
  const auto set_by = current_ ? read_clock_set(in) : std::optional(Millis{0});
  if (!set_by) return false;
  holdings_.clock_was_set(*set_by);
  holdings_.note_moment(latest);
  holdings_.slots().grow_to(slots_);
  return in.ok() && in.at_end();
}

bool Loader::place(Chunk kind, std::string_view bytes) {
  if (next_ >= slots_) return false;
  holdings_.slots().own(next_);
  Slot* block = &holdings_.slots().edit(next_);
  if (kind == Chunk::packed) {
    if (!unpack_slots(bytes, block)) return false;
  } else {
    if (bytes.size() != block_bytes) return false;
    std::memcpy(static_cast<void*>(block), bytes.data(), bytes.size());
  }
  for (SlotNumber i = 0; i < Slots::block_size; ++i) {
    Slot& slot = block[i];
    if (slot.place == Place::free) continue;
    if (slot.place == Place::delayed) slot.place = Place::ready;
    QueueState* queue = holdings_.queue(slot.queue);
    if (queue == nullptr || static_cast<std::size_t>(slot.place) >= place_count) return false;
    ++queue->in(slot.place);
    queue->totals.bytes += slot.size;
    if (slot.place == Place::dead) queue->dead_bytes += slot.size;
  }
  next_ += Slots::block_size;
  return true;
}

bool Loader::place_keys(std::string_view bytes) {
  if (bytes.size() != keys_bytes || next_ == 0) return false;
  Slots& slots = holdings_.slots();
  for (SlotNumber i = 0; i < Slots::block_size; ++i) {
    const auto number = next_ - Slots::block_size + i;
    const Slot& slot = slots[number];
    if (slot.place == Place::free || !slot.keyed) continue;
    KeyDigest key = 0;
    std::memcpy(&key, bytes.data() + i * key_digest_size, key_digest_size);
    if (key == 0) return false;
    slots.set_key(number, key);
    const bool head = slot.place != Place::arriving && slot.place != Place::held;
    if (head) heads_.push_back(number);
  }
  return true;
}

bool Loader::place_expiries(std::string_view bytes) {
  if (bytes.size() != expiries_bytes || next_ == 0) return false;
  Slots& slots = holdings_.slots();
  ByteReader in(bytes);
  for (SlotNumber i = 0; i < Slots::block_size; ++i) {
    const auto number = next_ - Slots::block_size + i;
    const Expiry expiry = in.u32();
    if (slots[number].place != Place::free && slots[number].can_expire) {
      slots.set_expiry(number, expiry);
    }
  }
  return true;
}

/// A slot that is named is taken: checksums do not say so, and another leads out of the table.
bool Loader::links_hold() const {
  const Slots& slots = holdings_.slots();
  const auto taken = [&](SlotNumber at) {
    return at < slots.size() && slots[at].place != Place::free;
  };
  const auto ends_or = [&](SlotNumber at) { return at == no_slot || taken(at); };
  for (SlotNumber at = 0; at < slots.size(); ++at) {
    const Slot& slot = slots[at];
    if (slot.place == Place::free) continue;
    if (!ends_or(slot.older) || !ends_or(slot.newer)) return false;
    if (slot.place == Place::held && !taken(slot.next)) return false;
  }
  for (std::size_t i = 0; i < holdings_.queue_count(); ++i) {
    const QueueState* queue = holdings_.queue(static_cast<std::uint16_t>(i));
    if (queue == nullptr) return false;
    for (const Chain& chain : {queue->all, queue->dead}) {
      if (!ends_or(chain.oldest) || !ends_or(chain.newest)) return false;
    }
  }
  return std::all_of(leases_.begin(), leases_.end(),
                     [&](auto& each) { return taken(each.slot); }) &&
         std::all_of(arrivals_.begin(), arrivals_.end(), taken);
}

/// Who is held says so itself; who is last of those is written down; all other heads are alone.
bool Loader::restore_keys() {
  Slots& slots = holdings_.slots();
  const auto held = [&](SlotNumber last) {
    return last < slots.size() && slots[last].place == Place::held && slots.key(last) != 0;
  };
  for (const KeysOfQueue& each : keys_) {
    KeyBook& keys = holdings_.queue(each.queue)->keys;
    for (const auto last : each.rings) {
      if (!held(last)) return false;
      keys.restore_followers(slots, last);
    }
    for (const KeyNote& note : each.notes) {
      if (note.last != no_slot && !held(note.last)) return false;
      keys.restore(slots, note);
    }
  }
  for (const auto head : heads_) {
    KeyBook& keys = holdings_.queue_of(head).keys;
    if (!keys.has(slots, slots.key(head))) (void)keys.join(slots, head);
  }
  return true;
}

bool Loader::remember(std::string_view bytes) {
  ByteReader in(bytes);
  QueueState* queue = holdings_.queue(in.u16());
  return queue != nullptr && queue->dedupe.load(in) && in.at_end();
}

bool Loader::arrivals(std::string_view bytes) {
  ByteReader in(bytes);
  const auto count = in.number();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    arrivals_.push_back(in.u32());
  }
  return in.ok();
}

bool Loader::take(Chunk kind, std::string_view bytes) {
  switch (kind) {
    case Chunk::description:
      return describe(bytes);
    case Chunk::arrivals:
      return arrivals(bytes);
    case Chunk::ids:
      return remember(bytes);
    case Chunk::block:
    case Chunk::packed:
      return place(kind, bytes);
    case Chunk::keys:
      return place_keys(bytes);
    case Chunk::expiries:
      return place_expiries(bytes);
    case Chunk::free:
      next_ += Slots::block_size;
      return bytes.empty() && next_ - Slots::block_size < slots_;
    case Chunk::end:
      // Versions differ by a bit or two: the end says once more which one this is.
      complete_ =
          bytes == (current_ ? magic : "") && next_ >= slots_ && links_hold() && restore_keys();
      return complete_;
  }
  return false;
}

// Lines are made anew when work begins; until then what waits is ready.
void Loader::finish() {
  for (const LeaseNote& note : leases_) {
    Lease& lease = holdings_.adopt_lease(note.slot);
    lease.started = note.started;
    lease.started_at = note.started_at;
  }
  for (const auto slot : arrivals_) holdings_.arrive(slot, TimePoint{});
}

Result<std::optional<LoadedCheckpoint>> Loader::run() {
  const auto names = files_.list();
  if (!names) return names.error();
  if (std::find(names->begin(), names->end(), file_name) == names->end()) {
    return std::optional<LoadedCheckpoint>();
  }
  if (const auto opened = open(); !opened) return opened.error();
  std::string bytes;
  std::uint64_t at = magic.size();
  while (!complete_) {
    const auto chunk = read_chunk(at, bytes);
    if (!chunk) return chunk.error();
    if (!take(chunk->kind, bytes)) return damaged(files_, at);
    at += header_size + chunk->size;
  }
  finish();
  loaded_.behind = loaded_.size - at;
  return std::optional(loaded_);
}

Result<void> Loader::open() {
  auto file = files_.open(file_name, OpenMode::read_only);
  if (!file) return file.error();
  file_ = std::move(*file);
  const auto size = file_->size();
  if (!size) return size.error();
  loaded_.size = *size;
  std::string head(magic.size(), '\0');
  const auto got = file_->read_at(0, head.data(), head.size());
  if (!got) return got.error();
  current_ = head == magic;
  const bool before = std::find(std::begin(magics_before), std::end(magics_before), head) !=
                      std::end(magics_before);
  if (is_newer(head)) return newer(files_, head[7]);
  if (!current_ && !before) return damaged(files_, 0);
  return {};
}

Result<Loader::Header> Loader::read_chunk(std::uint64_t at, std::string& bytes) {
  char header[header_size];
  const auto read = file_->read_at(at, header, header_size);
  if (!read) return read.error();
  if (*read < header_size) return damaged(files_, at);
  ByteReader in(std::string_view(header, header_size));
  const auto kind = in.u8();
  const auto length = in.u32();
  const auto crc = in.u32();
  if (length > loaded_.size - at - header_size) return damaged(files_, at);
  bytes.resize(length);
  const auto body = file_->read_at(at + header_size, bytes.data(), length);
  if (!body) return body.error();
  const char type = static_cast<char>(kind);
  if (*body < length || crc32c(crc32c(0, {&type, 1}), bytes) != crc) return damaged(files_, at);
  return Header{static_cast<Chunk>(kind), length};
}

bool Loader::describe_only() {
  if (!open()) return false;
  std::string bytes;
  const auto chunk = read_chunk(magic.size(), bytes);
  return chunk && chunk->kind == Chunk::description && describe(bytes);
}

}  // namespace

Result<std::optional<LoadedCheckpoint>> load_checkpoint(FileSystem& files, Holdings& holdings) {
  return Loader(files, holdings).run();
}

std::optional<std::uint64_t> load_settings(FileSystem& files, Holdings& holdings) {
  Holdings described;
  Loader loader(files, described);
  if (!loader.describe_only()) return std::nullopt;
  for (std::size_t i = 0; i < described.queue_count(); ++i) {
    const QueueState& queue = *described.queue(static_cast<std::uint16_t>(i));
    holdings.declare(queue.record).totals.paused = queue.totals.paused;
  }
  return loader.incarnation();
}

}  // namespace dlo::embedded
