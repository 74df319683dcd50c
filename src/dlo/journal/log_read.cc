#include <algorithm>
#include <memory>
#include <numeric>

#include "dlo/journal/crc32c.h"
#include "dlo/journal/format.h"
#include "dlo/journal/log.h"

namespace dlo {
namespace {

namespace format = journal_format;

// Records that lie this near each other are fetched by one read.
constexpr std::size_t near = 64U << 10U;
constexpr std::size_t largest_window = 1U << 20U;
constexpr std::size_t usual_record = 2048;  // behind the last one its length is not known

/// A stretch of a segment held in memory while neighbouring records are taken out of it.
class Window {
 public:
  /// Makes [offset, offset + size) available; `ahead` says how much more is worth fetching.
  template <typename Ahead>
  Result<std::string_view> view(Segment& segment, std::uint64_t offset, std::size_t size,
                                const Ahead& ahead) {
    const bool inside =
        segment_ == segment.number && offset >= from_ && offset + size <= from_ + size_;
    if (!inside) {
      const std::size_t wanted = std::max<std::size_t>(size, ahead());
      if (wanted > room_) {
        bytes_ = std::make_unique_for_overwrite<char[]>(wanted);
        room_ = wanted;
      }
      const auto got = segment.file->read_at(offset, bytes_.get(), wanted);
      size_ = 0;
      if (!got) return got.error();
      size_ = *got;
      segment_ = segment.number;
      from_ = offset;
    }
    const std::size_t at = offset - from_;
    return std::string_view(bytes_.get() + at, std::min(size, size_ - at));
  }

 private:
  std::uint64_t segment_ = 0;
  std::uint64_t from_ = 0;
  std::unique_ptr<char[]> bytes_;
  std::size_t room_ = 0;
  std::size_t size_ = 0;
};

/// Which records are asked for, in the order of their places.
std::vector<std::size_t> in_order_of_place(std::span<const Address> records) {
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [&](std::size_t a, std::size_t b) {
    return std::pair(records[a].location.segment, records[a].location.offset) <
           std::pair(records[b].location.segment, records[b].location.offset);
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::sort(order.begin(), order.end(), before);
  }
  return order;
}

/// How far one read should reach that begins with the record `order[at]`.
std::size_t reach(std::span<const Address> records, std::span<const std::size_t> order,
                  std::size_t at) {
  const Location& first = records[order[at]].location;
  std::uint64_t end = first.offset;
  for (++at; at < order.size(); ++at) {
    const Location& next = records[order[at]].location;
    if (next.segment != first.segment || next.offset - end > near ||
        next.offset - first.offset > largest_window) {
      break;
    }
    end = next.offset;
  }
  return end - first.offset + usual_record;
}

Error damaged(const FileSystem& files, const Segment& segment, const Address& address) {
  return Error{Code::corrupt, "journal.read",
               files.describe(segment_file(segment.number)) + " at byte " +
                   std::to_string(address.location.offset) + ": record " +
                   std::to_string(address.sequence) +
                   " does not match its checksum. It was not used. Run 'dlo queue fsck' on the "
                   "directory to see what else is affected."};
}

}  // namespace

void read_records(const FileSystem& files, const Segments& segments,
                  std::span<const Address> records, const Journal::Reader& each) {
  const auto order = in_order_of_place(records);
  Window window;
  SegmentPtr segment;
  const auto one = [&](std::size_t at) -> Result<std::string_view> {
    const Address& address = records[order[at]];
    if (!segment || segment->number != address.location.segment) {
      segment = segments.find(address.location.segment);
    }
    if (!segment) {
      return Error{Code::not_found, "journal.read",
                   "Segment " + std::to_string(address.location.segment) + " is gone."};
    }
    const std::uint64_t offset = address.location.offset;
    const auto ahead = [&] { return reach(records, order, at); };
    const auto head = window.view(*segment, offset, format::record_header_size, ahead);
    if (!head) return head.error();
    if (head->size() < format::record_header_size) return damaged(files, *segment, address);
    const auto header = format::decode_record(head->data());
    const std::uint64_t begins = offset + format::record_header_size;
    if (begins + header.size > segment->size) return damaged(files, *segment, address);
    const auto body = window.view(*segment, begins, header.size, ahead);
    if (!body) return body.error();
    const std::uint32_t crc = format::record_crc(crc32c(0, *body), address.sequence, header.type);
    if (body->size() < header.size || crc != header.crc) return damaged(files, *segment, address);
    return *body;
  };
  for (std::size_t at = 0; at < order.size(); ++at) each(order[at], one(at));
}

void Log::read(std::span<const Address> records, const Reader& each) {
  read_records(files_, segments_, records, each);
}

}  // namespace dlo
