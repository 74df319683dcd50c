#include "dlo/journal/segments.h"

#include <algorithm>
#include <cstdio>

#include "dlo/journal/format.h"

namespace dlo {
namespace {

constexpr std::size_t zero_chunk = 1U << 20U;

Result<void> fill_with_zeros(File& file, std::uint64_t from, std::uint64_t to) {
  const std::string zeros(zero_chunk, '\0');
  for (std::uint64_t at = from; at < to; at += zero_chunk) {
    const auto size = std::min<std::uint64_t>(zero_chunk, to - at);
    const auto written = file.write_at(at, std::string_view(zeros).substr(0, size));
    if (!written) return written;
  }
  return {};
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
  if (prepared_) {
    // Never used: its removal may be lost in a crash, and recovery treats it as spare.
    const std::string name = segment_file(prepared_->number);
    prepared_.reset();
    (void)files_.remove(name);
  }
}

void Segments::adopt(SegmentPtr segment) {
  const std::unique_lock lock(mutex_);
  live_[segment->number] = std::move(segment);
}

void Segments::adopt_spare(const std::string& name) {
  const std::unique_lock lock(mutex_);
  if (spares_.size() < options_.spare_segments) {
    spares_.push_back(name);
  } else {
    (void)files_.remove(name);
  }
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

std::uint64_t Segments::disk_bytes() const {
  const std::uint64_t live = live_bytes();
  const std::shared_lock lock(mutex_);
  return live + spares_.size() * options_.segment_size;
}

std::uint64_t Segments::live_bytes() const {
  const std::shared_lock lock(mutex_);
  std::uint64_t total = 0;
  for (const auto& [number, segment] : live_) total += segment->size;
  return total;
}

/// A recycled file is overwritten, a new one is filled with zeros first (`zero`): overwriting
/// allocated blocks syncs half again as fast as appending.
Result<SegmentPtr> Segments::make(std::uint64_t number, std::uint64_t size, bool zero) {
  auto segment = std::make_shared<Segment>();
  segment->number = number;
  const std::string name = segment_file(number);
  std::string spare;
  if (size == options_.segment_size) {
    const std::unique_lock lock(mutex_);
    if (!spares_.empty()) {
      spare = std::move(spares_.back());
      spares_.pop_back();
    }
  }
  if (!spare.empty()) {
    const auto renamed = files_.rename(spare, name);
    if (!renamed) return renamed.error();
  }
  auto file = files_.open(name, spare.empty() ? OpenMode::create : OpenMode::read_write);
  if (!file) return file.error();
  segment->file = std::move(*file);
  segment->size = size;
  segment->zeroed = spare.empty();
  // Without a valid header a file that was never used cannot be taken for a segment.
  Result<void> ready = fill_with_zeros(*segment->file, 0, journal_format::segment_header_size);
  if (ready && spare.empty() && zero) {
    ready = fill_with_zeros(*segment->file, 0, size);
    if (ready) ready = segment->file->sync();
  } else if (ready && spare.empty()) {
    ready = segment->file->allocate(size);
  }
  if (ready) ready = files_.sync_names();
  if (!ready) {
    segment->file.reset();
    (void)files_.remove(name);
    return ready.error();
  }
  return segment;
}

void Segments::prepare_loop() {
  std::unique_lock lock(prepare_mutex_);
  while (true) {
    prepare_wake_.wait(lock, [this] { return stopping_ || (wanted_ && !prepared_); });
    if (stopping_) return;
    const std::uint64_t number = *wanted_;
    preparing_ = true;
    lock.unlock();
    auto made = make(number, options_.segment_size, true);
    lock.lock();
    preparing_ = false;
    wanted_.reset();
    prepare_error_.reset();
    if (made) {
      prepared_ = std::move(*made);
    } else {
      prepare_error_ = made.error();  // told to whoever needs the segment
    }
    prepare_wake_.notify_all();
  }
}

Result<void> Segments::wait_until_prepared() {
  if (!options_.prepare_ahead) return {};
  std::unique_lock lock(prepare_mutex_);
  if (!prepared_ && !preparing_ && !wanted_) {  // it failed before: there may be room by now
    wanted_ = next_;
    prepare_error_.reset();
    prepare_wake_.notify_all();
  }
  prepare_wake_.wait(lock, [this] { return stopping_ || (!preparing_ && !wanted_) || prepared_; });
  if (prepared_ || stopping_ || !prepare_error_) return {};
  return *prepare_error_;
}

Result<SegmentPtr> Segments::activate(std::uint64_t number, std::uint64_t room) {
  const std::uint64_t size = std::max(room, options_.segment_size);
  SegmentPtr segment;
  {
    std::unique_lock lock(prepare_mutex_);
    prepare_wake_.wait(lock, [this] { return !preparing_; });
    wanted_.reset();  // from here on it is ours to make: two makers would be two files
    if (prepared_ && prepared_->number == number && prepared_->size >= room) {
      segment = std::move(prepared_);
    } else if (prepared_ && prepared_->number == number) {
      // An oversize record needs a file of its own; the readied one becomes spare.
      const std::string name = segment_file(number);
      prepared_.reset();
      if (const auto moved = files_.rename(name, "spare-" + name); moved) {
        adopt_spare("spare-" + name);
      }
    }
  }
  if (!segment) {
    auto made = make(number, size, false);
    if (!made) return made.error();
    segment = std::move(*made);
  }
  adopt(segment);
  const std::lock_guard lock(prepare_mutex_);
  next_ = number + 1;
  wanted_ = next_;
  prepare_wake_.notify_all();
  return segment;
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
    keep = spares_.size() < options_.spare_segments && segment->size == options_.segment_size;
  }
  const std::string name = segment_file(number);
  if (!keep) return files_.remove(name);
  const std::string spare = "spare-" + name;
  const auto renamed = files_.rename(name, spare);
  if (!renamed) return renamed;
  const std::unique_lock lock(mutex_);
  spares_.push_back(spare);
  return {};
}

}  // namespace dlo
