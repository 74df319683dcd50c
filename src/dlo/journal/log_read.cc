#include <algorithm>
#include <numeric>

#include "dlo/journal/crc32c.h"
#include "dlo/journal/format.h"
#include "dlo/journal/log.h"

namespace dlo {
namespace {

namespace format = journal_format;

// One read fetches at least this much: most records lie near each other and are asked for in turn.
constexpr std::size_t window_size = 256U << 10U;
constexpr std::size_t first_guess = 4096;

/// A stretch of a segment held in memory while neighbouring records are taken out of it.
class Window {
 public:
  /// Makes [offset, offset + size) available; `ahead` asks for more, if it is there.
  Result<std::string_view> view(Segment& segment, std::uint64_t offset, std::size_t size,
                                std::size_t ahead) {
    const bool inside =
        segment_ == segment.number && offset >= from_ && offset + size <= from_ + bytes_.size();
    if (!inside) {
      bytes_.resize(std::max(size, ahead));
      const auto got = segment.file->read_at(offset, bytes_.data(), bytes_.size());
      if (!got) return got.error();
      bytes_.resize(*got);
      segment_ = segment.number;
      from_ = offset;
    }
    const std::uint64_t at = offset - from_;
    return std::string_view(bytes_).substr(at, std::min<std::size_t>(size, bytes_.size() - at));
  }

 private:
  std::uint64_t segment_ = 0;
  std::uint64_t from_ = 0;
  std::string bytes_;
};

Error damaged(const std::string& file, const Address& address) {
  return Error{Code::corrupt, "journal.read",
               file + " at byte " + std::to_string(address.location.offset) + ": record " +
                   std::to_string(address.sequence) +
                   " does not match its checksum. It was not used. Run 'dlo queue fsck' on the "
                   "directory to see what else is affected."};
}

}  // namespace

Result<std::vector<std::string>> Log::read(std::span<const Address> records) {
  std::vector<std::string> bodies(records.size());
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [&](std::size_t i) {
    return std::pair(records[i].location.segment, records[i].location.offset);
  };
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return key(a) < key(b); });

  Window window;
  const std::size_t ahead = records.size() > 4 ? window_size : first_guess;
  SegmentPtr segment;
  for (const std::size_t i : order) {
    const Address& address = records[i];
    if (!segment || segment->number != address.location.segment) {
      segment = segments_.find(address.location.segment);
    }
    if (!segment) {
      return Error{Code::not_found, "journal.read",
                   "Segment " + std::to_string(address.location.segment) + " is gone."};
    }
    const std::string file = files_.describe(segment_name(segment->number));
    const std::uint64_t offset = address.location.offset;
    auto head = window.view(*segment, offset, format::record_header_size, ahead);
    if (!head) return head.error();
    if (head->size() < format::record_header_size) return damaged(file, address);
    const auto header = format::decode_record(head->data());
    if (offset + format::record_header_size + header.size > segment->size) {
      return damaged(file, address);
    }
    const auto body =
        window.view(*segment, offset + format::record_header_size, header.size, ahead);
    if (!body) return body.error();
    const std::uint32_t crc = format::record_crc(crc32c(0, *body), address.sequence, header.type);
    if (body->size() < header.size || crc != header.crc) return damaged(file, address);
    bodies[i].assign(*body);
  }
  return bodies;
}

}  // namespace dlo
