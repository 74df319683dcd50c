#include "dlo/journal/segments.h"

#include <algorithm>
#include <cstdio>

#include "dlo/journal/format.h"

namespace dlo {
namespace {

Result<void> blank_header(File& file) {
  return file.write_at(0, std::string(journal_format::segment_header_size, '\0'));
}

SegmentPtr segment_of(std::uint64_t number, std::uint64_t epoch, std::uint64_t size, bool zeroed,
                      std::uint64_t written, std::unique_ptr<File> file) {
  auto segment = std::make_shared<Segment>();
  segment->number = number;
  segment->epoch = epoch;
  segment->size = size;
  segment->zeroed = zeroed;
  segment->written = written;
  segment->file = std::move(file);
  return segment;
}

}  // namespace

std::string segment_file(std::uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "%012llu.seg", static_cast<unsigned long long>(number));
  return text;
}

std::optional<std::uint64_t> segment_number(const std::string& name) {
  if (name.size() != 16 || !name.ends_with(".seg")) return std::nullopt;
  const std::string digits = name.substr(0, 12);
  if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoull(digits);
}

Segments::Segments(FileSystem& files, JournalOptions options)
    : files_(files), options_(std::move(options)) {
  if (options_.prepare_ahead) preparer_ = std::thread([this] { prepare_loop(); });
}

Segments::~Segments() {
  stop();
}

void Segments::stop() {
  {
    const std::lock_guard lock(prepare_mutex_);
    stopping_ = true;
    prepare_wake_.notify_all();
  }
  if (preparer_.joinable()) preparer_.join();
  // A removal may be lost in a crash; opening removes what is spare, too.
  while (const auto spare = take_spare()) (void)files_.remove(spare->name);
}

void Segments::adopt(SegmentPtr segment) {
  const std::unique_lock lock(mutex_);
  live_[segment->number] = std::move(segment);
}

SegmentPtr Segments::find(std::uint64_t number) const {
  const std::shared_lock lock(mutex_);
  const auto found = live_.find(number);
  return found == live_.end() ? nullptr : found->second;
}

std::vector<std::uint64_t> Segments::numbers() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::uint64_t> all;
  for (const auto& [number, segment] : live_) all.push_back(number);
  return all;
}

void Segments::describe(JournalStats& into) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [number, segment] : live_) {
    into.segment_numbers.push_back(number);
    into.segment_sizes.push_back(segment->size);
    into.live_bytes += segment->size;
  }
  into.disk_bytes = into.live_bytes + spares_.size() * options_.segment_size;
}

std::optional<Segments::Spare> Segments::take_spare() {
  const std::unique_lock lock(mutex_);
  if (spares_.empty()) return std::nullopt;
  Spare spare = std::move(spares_.back());
  spares_.pop_back();
  return spare;
}

std::uint64_t Segments::new_epoch(std::uint64_t number) const {
  journal_format::SegmentHeader header;
  header.number = number;
  header.nonce = options_.nonce ? options_.nonce() : 0;
  return header.epoch();
}

Result<SegmentPtr> Segments::reuse(std::uint64_t number, const Spare& spare) {
  const std::string name = segment_file(number);
  const auto renamed = files_.rename(spare.name, name);
  if (!renamed) return renamed.error();
  auto file = files_.open(name, OpenMode::read_write);
  if (!file) return file.error();
  // Without a valid header a file that was never used cannot be taken for a segment.
  if (const auto blank = blank_header(**file); !blank) return blank.error();
  return segment_of(number, new_epoch(number), options_.segment_size, spare.zeroed, spare.written,
                    std::move(*file));
}

Result<SegmentPtr> Segments::create(std::uint64_t number, std::uint64_t size) {
  const std::string name = segment_file(number);
  auto file = files_.open(name, OpenMode::create);
  if (!file) return file.error();
  auto ready = blank_header(**file);
  if (ready) ready = (*file)->allocate(size);
  if (!ready) {
    file->reset();
    (void)files_.remove(name);
    return ready.error();
  }
  return segment_of(number, new_epoch(number), size, true, 0, std::move(*file));
}

bool Segments::has_spare() const {
  const std::shared_lock lock(mutex_);
  return !spares_.empty();
}

Result<void> Segments::make_spare(const std::string& name) {
  auto file = files_.open(name, OpenMode::create);
  if (!file) return file.error();
  auto ready = blank_header(**file);
  if (ready) ready = (*file)->allocate(options_.segment_size);
  if (!ready) {
    file->reset();
    (void)files_.remove(name);
  }
  return ready;
}

void Segments::prepare_loop() {
  std::unique_lock lock(prepare_mutex_);
  while (true) {
    prepare_wake_.wait(lock, [this] { return stopping_ || wanted_; });
    if (stopping_) return;
    const Spare spare{"spare-new-" + std::to_string(++made_) + ".seg", true, 0};
    lock.unlock();
    auto made = make_spare(spare.name);
    if (made) {
      const std::unique_lock adding(mutex_);
      spares_.push_back(spare);
    }
    lock.lock();
    wanted_ = false;
    prepare_error_.reset();
    if (!made) prepare_error_ = made.error();  // told to whoever needs the segment
    prepare_wake_.notify_all();
  }
}

void Segments::ready_next() {
  if (!options_.prepare_ahead || has_spare()) return;
  const std::lock_guard lock(prepare_mutex_);
  if (wanted_) return;
  wanted_ = true;
  prepare_wake_.notify_all();
}

Result<void> Segments::trouble() {
  const std::lock_guard lock(prepare_mutex_);
  if (!prepare_error_ || has_spare()) return {};
  return *prepare_error_;
}

Result<void> Segments::wait_until_ready() {
  if (!options_.prepare_ahead) return {};
  ready_next();
  std::unique_lock lock(prepare_mutex_);
  prepare_wake_.wait(lock, [this] { return stopping_ || !wanted_; });
  if (stopping_ || !prepare_error_ || has_spare()) return {};
  return *prepare_error_;
}

Result<SegmentPtr> Segments::activate(std::uint64_t number, std::uint64_t room) {
  // An oversize record needs a file of its own.
  const auto spare = room <= options_.segment_size ? take_spare() : std::nullopt;
  auto segment = spare ? reuse(number, *spare) : create_or_shorter(number, room);
  if (segment) adopt(*segment);
  return segment;
}

/// The shorter ones leave the rest of the disk for a checkpoint, without which no room is made.
Result<SegmentPtr> Segments::create_or_shorter(std::uint64_t number, std::uint64_t room) {
  constexpr std::uint64_t shortest = 64U << 10U;
  auto whole = create(number, std::max(room, options_.segment_size));
  if (whole || whole.error().code != Code::disk_full) return whole;
  for (auto size = options_.segment_size / 8; size >= std::max(room, shortest); size /= 2) {
    auto segment = create(number, size);
    if (segment) return segment;
  }
  return whole;
}

Result<void> Segments::release(std::uint64_t number) {
  SegmentPtr segment;
  bool keep = false;
  {
    const std::unique_lock lock(mutex_);
    const auto found = live_.find(number);
    if (found == live_.end()) return {};
    segment = std::move(found->second);
    live_.erase(found);
    const bool usual =
        segment->size >= options_.segment_size && segment->size <= 2 * options_.segment_size;
    keep = usual && spares_.size() < options_.spare_segments;
  }
  const std::string name = segment_file(number);
  if (!keep) return files_.remove(name);
  const std::string spare = "spare-" + name;
  auto done = files_.rename(name, spare);
  // Before a byte of it changes: under its old name it would be a segment that is damaged.
  if (done) done = files_.sync_names();
  // One that a list made longer is as long as the others from now on. Its header is synced before
  // it holds anything again, and its length with it.
  if (done && segment->size > options_.segment_size) {
    done = segment->file->truncate(options_.segment_size);
  }
  if (!done) return done;
  const std::unique_lock lock(mutex_);
  spares_.push_back({spare, false, std::min(segment->written, options_.segment_size)});
  return {};
}

}  // namespace dlo
