#include "dlo/broker/embedded/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dlo/journal/crc32c.h"

namespace dlo::embedded {
namespace {

constexpr char file_name[] = "checkpoint";
constexpr char new_name[] = "checkpoint.new";
constexpr std::string_view magic = "DLOQCKP2";
constexpr std::size_t block_bytes = Slots::block_size * sizeof(Slot);

enum class Chunk : std::uint8_t { description = 1, arrivals = 2, block = 3, end = 4, free = 5 };

/// Chunks of `kind u8 | size u32 | crc u32 | bytes`, gathered into large writes.
class ChunkWriter {
 public:
  explicit ChunkWriter(File& file) : file_(file) { buffer_.append(magic); }

  Result<void> add(Chunk kind, std::string_view bytes) {
    ByteWriter out(buffer_);
    out.u8(static_cast<std::uint8_t>(kind));
    out.u32(static_cast<std::uint32_t>(bytes.size()));
    const char type = static_cast<char>(kind);
    out.u32(crc32c(crc32c(0, {&type, 1}), bytes));
    buffer_.append(bytes);
    return buffer_.size() >= flush_at ? flush() : Result<void>{};
  }
  Result<void> flush() {
    const auto done = file_.write_at(size_, buffer_);
    size_ += buffer_.size();
    buffer_.clear();
    return done;
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  static constexpr std::size_t flush_at = 1U << 20U;
  File& file_;
  std::string buffer_;
  std::uint64_t size_ = 0;
};

void write_totals(const SourceStats& totals, ByteWriter& out) {
  for (const auto count :
       {totals.published, totals.completed, totals.dead_lettered, totals.expired, totals.purged}) {
    out.number(count);
  }
  out.u8(totals.paused);
}

void read_totals(SourceStats& totals, ByteReader& in) {
  for (auto* count : {&totals.published, &totals.completed, &totals.dead_lettered, &totals.expired,
                      &totals.purged}) {
    *count = in.number();
  }
  totals.paused = in.u8() != 0;
}

void write_queue(QueueState& queue, ByteWriter& out) {
  std::string record;
  encode(queue.record, record);
  out.text(record);
  write_totals(queue.totals, out);
  for (const Chain& chain : {queue.all, queue.dead}) {
    out.u32(chain.oldest);
    out.u32(chain.newest);
  }
  out.number(queue.keys.size());
  queue.keys.for_each([&](const KeyEntry& line) {
    out.text(line.name());
    out.u32(line.head());
    out.u32(line.followers.first);
    out.u32(line.followers.last);
    out.u8(line.on_hold);
  });
  queue.dedupe.save(out);
}

bool read_queue(Holdings& holdings, ByteReader& in) {
  const auto record = decode_queue(in.text());
  if (!record) return false;
  QueueState& queue = holdings.declare(*record);
  read_totals(queue.totals, in);
  for (Chain* chain : {&queue.all, &queue.dead}) {
    chain->oldest = in.u32();
    chain->newest = in.u32();
  }
  const auto keys = in.number();
  for (std::uint64_t i = 0; i < keys && in.ok(); ++i) {
    const auto name = in.text();
    if (name.empty()) return false;
    KeyEntry& line = queue.keys.at(name);
    queue.keys.set_head(line, in.u32());
    line.followers.first = in.u32();
    line.followers.last = in.u32();
    line.on_hold = in.u8() != 0;
  }
  return queue.dedupe.load(in);
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
  bool place(std::string_view bytes);
  bool arrivals(std::string_view bytes);
  void finish();

  static constexpr std::size_t header_size = 9;
  FileSystem& files_;
  Holdings& holdings_;
  std::unique_ptr<File> file_;
  LoadedCheckpoint loaded_;
  SlotNumber slots_ = 0;
  SlotNumber next_ = 0;
  std::vector<LeaseNote> leases_;
  std::vector<ArrivalNote> arrivals_;
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
  holdings_.note_moment(in.moment());
  slots_ = in.u32();
  const auto segments = in.number();
  for (std::uint64_t i = 0; i < segments && in.ok(); ++i) {
    const auto segment = in.u32();
    SegmentUse use;
    use.base = in.u64();
    use.placed = in.number();
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
    if (!read_queue(holdings_, in)) return false;
  }
  holdings_.slots().grow_to(slots_);
  return in.ok() && in.at_end();
}

bool Loader::place(std::string_view bytes) {
  if (bytes.size() != block_bytes || next_ >= slots_) return false;
  holdings_.slots().own(next_);
  Slot* block = &holdings_.slots().edit(next_);
  std::memcpy(static_cast<void*>(block), bytes.data(), bytes.size());
  for (SlotNumber i = 0; i < Slots::block_size; ++i) {
    const Slot& slot = block[i];
    if (slot.place == Place::free) continue;
    QueueState* queue = holdings_.queue(slot.queue);
    if (queue == nullptr || static_cast<std::size_t>(slot.place) >= place_count) return false;
    ++queue->in(slot.place);
    queue->totals.bytes += slot.size;
    if (slot.place == Place::dead) queue->dead_bytes += slot.size;
  }
  next_ += Slots::block_size;
  return true;
}

bool Loader::arrivals(std::string_view bytes) {
  ByteReader in(bytes);
  const auto count = in.number();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const auto slot = in.u32();
    arrivals_.push_back({slot, std::string(in.text())});
    if (slot >= slots_) return false;
  }
  return in.ok();
}

bool Loader::take(Chunk kind, std::string_view bytes) {
  switch (kind) {
    case Chunk::description:
      return describe(bytes);
    case Chunk::arrivals:
      return arrivals(bytes);
    case Chunk::block:
      return place(bytes);
    case Chunk::free:
      next_ += Slots::block_size;
      return bytes.empty() && next_ - Slots::block_size < slots_;
    case Chunk::end:
      complete_ = next_ >= slots_;
      return complete_;
  }
  return false;
}

// Lines are made anew when work begins; until then what waits is ready and what was held is leased.
void Loader::finish() {
  for (const LeaseNote& note : leases_) {
    Lease& lease = holdings_.adopt_lease(note.slot);
    lease.started = note.started;
    lease.started_at = note.started_at;
  }
  holdings_.forget_lines();
  for (const ArrivalNote& note : arrivals_) {
    holdings_.arrive(note.slot, note.key, TimePoint{});
  }
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
  if (head != magic) return damaged(files_, 0);
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

std::string describe_holdings(Holdings& holdings, const JournalPosition& position,
                              std::uint64_t incarnation) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u32(sizeof(Slot));
  out.u64(position.sequence);
  out.u64(position.segment);
  out.u64(position.offset);
  out.u64(position.group);
  out.u32(position.previous_crc);
  out.u64(incarnation);
  out.moment(holdings.latest());
  out.u32(holdings.slots().size());
  const auto segments = holdings.segments().all();
  out.number(segments.size());
  for (const auto& [number, use] : segments) {
    out.u32(number);
    out.u64(use.base);
    out.number(use.placed);
    out.number(use.records);
    out.number(use.bytes);
  }
  std::vector<const Lease*> leases;
  for (std::size_t i = 0; i < holdings.leases().size(); ++i) {
    if (holdings.leases()[i].slot != no_slot) leases.push_back(&holdings.leases()[i]);
  }
  out.number(leases.size());
  for (const Lease* lease : leases) {
    out.u32(lease->slot);
    out.u8(lease->started);
    out.moment(lease->started_at);
  }
  out.number(holdings.queue_count());
  for (std::size_t i = 0; i < holdings.queue_count(); ++i) {
    write_queue(*holdings.queue(static_cast<std::uint16_t>(i)), out);
  }
  return bytes;
}

Result<std::uint64_t> write_checkpoint_file(FileSystem& files, const std::string& description,
                                            const std::vector<ArrivalNote>& arrivals,
                                            const std::function<NextBlock(Slot*)>& next_block) {
  (void)files.remove(new_name);  // of an attempt that a crash ended
  auto file = files.open(new_name, OpenMode::create);
  if (!file) return file.error();
  ChunkWriter chunks(**file);
  auto done = chunks.add(Chunk::description, description);
  std::string notes;
  ByteWriter out(notes);
  out.number(arrivals.size());
  for (const ArrivalNote& each : arrivals) {
    out.u32(each.slot);
    out.text(each.key);
  }
  if (done) done = chunks.add(Chunk::arrivals, notes);
  std::vector<Slot> block(Slots::block_size);
  while (done) {
    const auto next = next_block(block.data());
    if (next == NextBlock::none) break;
    done =
        next == NextBlock::free
            ? chunks.add(Chunk::free, {})
            : chunks.add(Chunk::block, {reinterpret_cast<const char*>(block.data()), block_bytes});
  }
  if (done) done = chunks.add(Chunk::end, {});
  if (done) done = chunks.flush();
  if (done) done = (*file)->sync();
  file->reset();
  if (done) done = files.rename(new_name, file_name);
  if (done) done = files.sync_names();
  if (!done) return done.error();
  return chunks.size();
}

NextBlock copy_next(Slots& slots, std::size_t& next, Slot* into) {
  if (next == slots.snapshot_blocks()) return NextBlock::none;
  return slots.copy_block(next++, into) ? NextBlock::used : NextBlock::free;
}

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
