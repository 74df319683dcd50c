#include <utility>
#include <vector>

#include "dlo/broker/embedded/checkpoint.h"
#include "dlo/broker/embedded/checkpoint_chunks.h"
#include "dlo/broker/embedded/slot_pack.h"
#include "dlo/journal/crc32c.h"

namespace dlo::embedded {
namespace {

using namespace checkpoint_format;

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

void write_queue(QueueState& queue, ByteWriter& out) {
  std::string record;
  encode(queue.record, record);
  out.text(record);
  write_totals(queue.totals, out);
  for (const Chain& chain : {queue.all, queue.dead}) {
    out.u32(chain.oldest);
    out.u32(chain.newest);
  }
  out.u8(queue.moving_to.has_value());
  out.u16(queue.moving_to.value_or(0));
  std::vector<SlotNumber> rings;
  queue.keys.for_each_ring([&](SlotNumber last) { rings.push_back(last); });
  out.number(rings.size());
  for (const auto last : rings) out.u32(last);
  std::vector<KeyNote> notes;
  queue.keys.for_each_note([&](const KeyNote& note) { notes.push_back(note); });
  out.number(notes.size());
  for (const KeyNote& note : notes) {
    out.u64(note.key);
    out.u32(note.last);
    out.u8(note.on_hold);
  }
  out.number(0);  // ids are written in chunks of their own
}

Result<void> write_ids(const HoldingsDescription::Ids& ids, ChunkWriter& chunks) {
  std::string bytes;
  Result<void> done;
  for (std::size_t part = 0; done && part < ids.snapshot.parts.size();) {
    bytes.clear();
    ByteWriter out(bytes);
    out.u16(ids.queue);
    DedupeBook::save(ids.snapshot, part, out);
    done = chunks.add(Chunk::ids, bytes);
  }
  return done;
}

Result<void> write_block(const Slots::Copy& block, std::string& packed, ChunkWriter& chunks) {
  if (!block.used) return chunks.add(Chunk::free, {});
  packed.clear();
  pack_slots(block.slots.data(), packed);
  const auto bytes_of = [](const auto& all, std::size_t size) {
    return std::string_view(reinterpret_cast<const char*>(all.data()), size);
  };
  // Slots in no order at all take more room packed than as they are.
  auto done = packed.size() < block_bytes
                  ? chunks.add(Chunk::packed, packed)
                  : chunks.add(Chunk::block, bytes_of(block.slots, block_bytes));
  if (done && block.keyed) done = chunks.add(Chunk::keys, bytes_of(block.keys, keys_bytes));
  if (done && block.expires) {
    done = chunks.add(Chunk::expiries, bytes_of(block.expiries, expiries_bytes));
  }
  return done;
}

}  // namespace

HoldingsDescription describe_holdings(Holdings& holdings, const JournalPosition& position,
                                      std::uint64_t incarnation) {
  HoldingsDescription description;
  ByteWriter out(description.bytes);
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
    out.number(0);
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
    const auto number = static_cast<std::uint16_t>(i);
    write_queue(*holdings.queue(number), out);
    for (IdSnapshot& each : holdings.queue(number)->dedupe.snapshots()) {
      description.ids.push_back({number, std::move(each)});
    }
  }
  out.u64(static_cast<std::uint64_t>(holdings.clock_set_by().count()));
  return description;
}

Result<std::uint64_t> write_checkpoint_file(FileSystem& files,
                                            const HoldingsDescription& description,
                                            const std::vector<SlotNumber>& arrivals,
                                            const FillBlock& next_block) {
  (void)files.remove(new_name);  // of an attempt that a crash ended
  auto file = files.open(new_name, OpenMode::create);
  if (!file) return file.error();
  ChunkWriter chunks(**file);
  auto done = chunks.add(Chunk::description, description.bytes);
  for (const auto& each : description.ids) {
    if (done) done = write_ids(each, chunks);
  }
  std::string notes;
  ByteWriter out(notes);
  out.number(arrivals.size());
  for (const auto slot : arrivals) out.u32(slot);
  if (done) done = chunks.add(Chunk::arrivals, notes);
  Slots::Copy block;
  std::string packed;
  while (done && next_block(block)) done = write_block(block, packed, chunks);
  if (done) done = chunks.add(Chunk::end, magic);
  if (done) done = chunks.flush();
  if (done) done = (*file)->sync();
  file->reset();
  if (done) done = files.rename(new_name, file_name);
  if (done) done = files.sync_names();
  if (!done) {
    (void)files.remove(new_name);  // a disk that is full needs the room
    return done.error();
  }
  return chunks.size();
}

bool copy_next(Slots& slots, std::size_t& next, Slots::Copy& into) {
  if (next == slots.snapshot_blocks()) return false;
  slots.copy_block(next++, into);
  return true;
}

}  // namespace dlo::embedded
