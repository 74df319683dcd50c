#include "dlo/journal/salvage.h"

#include <algorithm>
#include <string_view>

#include "dlo/journal/crc32c.h"
#include "dlo/journal/format.h"
#include "dlo/journal/written_bytes.h"

namespace dlo {
namespace {

namespace format = journal_format;

/// Where a record seems to lie.
struct Outline {
  std::size_t at = 0;
  format::RecordHeader header;
  std::uint32_t body_crc = 0;
  [[nodiscard]] std::size_t end() const noexcept {
    return at + format::record_header_size + header.size;
  }
};

/// Records one behind the other from `at` on, as far as their lengths make sense.
std::vector<Outline> outlines(std::string_view bytes, std::size_t at) {
  std::vector<Outline> found;
  while (at + format::record_header_size <= bytes.size()) {
    Outline outline{at, format::decode_record(bytes.data() + at), 0};
    if (outline.header.type == 0 && outline.header.size == 0) break;  // padding
    if (outline.header.size > bytes.size() - at - format::record_header_size) break;
    outline.body_crc =
        crc32c(0, bytes.substr(at + format::record_header_size, outline.header.size));
    found.push_back(outline);
    at = outline.end();
  }
  return found;
}

bool holds(const Outline& outline, std::uint64_t sequence) noexcept {
  return format::record_crc(outline.body_crc, sequence, outline.header.type) == outline.header.crc;
}

/// The type under which a record verifies as number `sequence`; the byte that says it may be the
/// damaged one. 0: under none.
std::uint8_t verified_type(const Outline& outline, std::uint64_t sequence) {
  const auto holds = [&](unsigned type) {
    return format::record_crc(outline.body_crc, sequence, static_cast<std::uint8_t>(type)) ==
           outline.header.crc;
  };
  if (outline.header.type != 0 && holds(outline.header.type)) return outline.header.type;
  for (unsigned type = 1; type <= 0xFF; ++type) {
    if (holds(type)) return static_cast<std::uint8_t>(type);
  }
  return 0;
}

class Stretch {
 public:
  Stretch(const Segment& segment, std::uint64_t begin, std::string_view bytes)
      : segment_(segment), begin_(begin), bytes_(bytes) {}

  std::vector<Salvaged> run(std::optional<std::uint64_t> sequence) {
    std::size_t at = 0;
    while (at + format::group_header_size <= bytes_.size()) {
      at = group(at, sequence);
      at = next_group(at);
    }
    return std::move(found_);
  }

 private:
  /// Takes out what can be told of the group at `at`; answers where the next may begin.
  std::size_t group(std::size_t at, std::optional<std::uint64_t>& sequence) {
    const auto header = format::decode_group(bytes_.substr(at));
    const bool ours = header && header->epoch == segment_.epoch;
    const auto records = outlines(bytes_, at + format::group_header_size);
    // The header may be what is damaged, or what came before may be missing: try both numbers.
    std::optional<std::uint64_t> first = sequence;
    if (ours && (!first || count_whole(records, *first) == 0) &&
        count_whole(records, header->first_sequence) > 0) {
      first = header->first_sequence;
    }
    const bool outline_holds = ours && headers_verify(*header, at, records);
    if (!first && ours) first = header->first_sequence;
    if (!first) return at + format::group_alignment;
    std::size_t credible = outline_holds ? header->records : 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (verified_type(records[i], *first + i) != 0) credible = std::max(credible, i + 1);
    }
    for (std::size_t i = 0; i < credible; ++i) take(records[i], *first + i, outline_holds);
    const auto end = credible > 0 ? records[credible - 1].end() : at + format::group_header_size;
    std::uint64_t next = *first + credible;
    auto resumed = resume(end, next_group(end), next);
    if (credible == 0 && resumed == end && ours) {
      next = header->first_sequence;
      resumed = resume(end, next_group(end), next);
    }
    if (credible == 0 && resumed == end) return at + format::group_alignment;
    sequence = next;
    return resumed;
  }

  /// Where the length of a record is damaged nothing leads to those behind it in their group: they
  /// are looked for, up to `limit`. `next` is what the first of the missing ones has; afterwards
  /// what comes behind the last that was found.
  std::size_t resume(std::size_t from, std::size_t limit, std::uint64_t& next) {
    while (const auto found = find_record(from, limit, next)) {
      const auto records = outlines(bytes_.substr(0, limit), found->at);
      std::size_t whole = 1;
      for (std::size_t i = 1; i < records.size(); ++i) {
        if (verified_type(records[i], found->sequence + i) != 0) whole = i + 1;
      }
      for (std::size_t i = 0; i < whole; ++i) take(records[i], found->sequence + i, false);
      next = found->sequence + whole;
      from = records[whole - 1].end();
    }
    return from;
  }

  struct FoundRecord {
    std::size_t at = 0;
    std::uint64_t sequence = 0;
  };
  /// The first record in [from, limit) that verifies as `next` or as one of those that may come
  /// behind it, and whose neighbour does, too, unless it is the last of its group.
  std::optional<FoundRecord> find_record(std::size_t from, std::size_t limit, std::uint64_t next) {
    for (auto at = from; at + format::record_header_size <= limit; ++at) {
      const auto outline = record_at(at, limit);
      if (!outline) continue;
      const bool last = ends_group(outline->end(), limit);
      if (!last && !begins_record(outline->end(), limit)) continue;
      const auto most = next + (at - from) / format::record_header_size;
      patience_ -= std::min<std::uint64_t>(patience_, outline->header.size + 8 * (most - next + 1));
      if (patience_ == 0) return std::nullopt;
      const auto whole = with_crc(*outline);
      for (auto sequence = next; sequence <= most; ++sequence) {
        if (!holds(whole, sequence)) continue;
        if (last || holds(with_crc(*record_at(whole.end(), limit)), sequence + 1)) {
          return FoundRecord{at, sequence};
        }
      }
    }
    return std::nullopt;
  }

  /// What may be a record by its length and type.
  [[nodiscard]] std::optional<Outline> record_at(std::size_t at, std::size_t limit) const {
    if (at + format::record_header_size > limit) return std::nullopt;
    const Outline outline{at, format::decode_record(bytes_.data() + at), 0};
    const bool fits = outline.header.size <= limit - at - format::record_header_size;
    return fits && outline.header.type != 0 ? std::optional(outline) : std::nullopt;
  }
  [[nodiscard]] bool begins_record(std::size_t at, std::size_t limit) const {
    return record_at(at, limit).has_value();
  }
  /// Nothing but padding up to the next group, or to where none is.
  [[nodiscard]] bool ends_group(std::size_t at, std::size_t limit) const {
    const auto padded = format::aligned(begin_ + at) - begin_;
    const auto until = std::min<std::size_t>(padded + format::group_alignment, limit);
    if (padded < limit && padded + format::group_alignment > limit) return false;
    return until <= at ||
           bytes_.substr(at, until - at).find_first_not_of('\0') == std::string_view::npos;
  }
  [[nodiscard]] Outline with_crc(Outline outline) const {
    outline.body_crc =
        crc32c(0, bytes_.substr(outline.at + format::record_header_size, outline.header.size));
    return outline;
  }

  static std::size_t count_whole(const std::vector<Outline>& records, std::uint64_t first) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < records.size(); ++i)
      count += verified_type(records[i], first + i) != 0;
    return count;
  }

  /// The group's checksum covers the headers of its records: if it holds, only bodies are damaged.
  [[nodiscard]] bool headers_verify(const format::GroupHeader& header, std::size_t at,
                                    const std::vector<Outline>& records) const {
    if (records.size() < header.records || header.records == 0) return false;
    std::uint32_t crc = 0;
    for (std::uint32_t i = 0; i < header.records; ++i) {
      crc = crc32c(crc, bytes_.substr(records[i].at, format::record_header_size));
    }
    return format::group_crc(crc, bytes_.substr(at)) == header.crc;
  }

  void take(const Outline& record, std::uint64_t sequence, bool outlined) {
    Salvaged out;
    out.sequence = sequence;
    out.outlined = outlined;
    const auto type = verified_type(record, sequence);
    out.whole = type != 0;
    out.type = out.whole ? type : record.header.type;
    out.location = {static_cast<std::uint32_t>(segment_.number),
                    static_cast<std::uint32_t>(begin_ + record.at)};
    out.body = bytes_.substr(record.at + format::record_header_size, record.header.size);
    found_.push_back(std::move(out));
  }

  /// Groups lie at multiples of 16 of the file.
  [[nodiscard]] std::size_t next_group(std::size_t at) const {
    auto next = format::aligned(begin_ + at) - begin_;
    for (; next + format::group_header_size <= bytes_.size(); next += format::group_alignment) {
      const auto header = format::decode_group(bytes_.substr(next));
      if (header && header->epoch == segment_.epoch) return next;
    }
    return bytes_.size();
  }

  const Segment& segment_;
  std::uint64_t begin_;
  std::string_view bytes_;
  std::vector<Salvaged> found_;
  std::uint64_t patience_ =
      256U << 20U;  // bytes to be read in search of records: less than a second
};

}  // namespace

namespace {

/// A seal that stands here: every byte of it follows from that, and its filling is zeros.
std::string seal_at(std::uint64_t epoch, const LogEnd& here, std::size_t filling) {
  format::GroupHeader header;
  header.epoch = epoch;
  header.group = here.next_group;
  header.first_sequence = here.next_sequence;
  header.records = 1;
  header.size = static_cast<std::uint32_t>(format::record_header_size + filling);
  header.previous_crc = here.previous_crc;
  const auto body_crc = crc32c(0, std::string(filling, '\0'));
  const format::RecordHeader record{
      static_cast<std::uint32_t>(filling),
      format::record_crc(body_crc, header.first_sequence, format::seal_type), format::seal_type};
  std::string bytes(format::group_header_size + format::record_header_size, '\0');
  format::encode(header, bytes.data());
  format::encode(record, bytes.data() + format::group_header_size);
  const auto records = crc32c(0, std::string_view(bytes).substr(format::group_header_size));
  header.crc = format::group_crc(records, bytes);
  format::encode(header, bytes.data());
  bytes.resize(format::aligned(bytes.size() + filling));
  return bytes;
}

bool all_zeros(std::string_view bytes) noexcept {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

bool held_first_seal(const Segment& segment, std::uint64_t begin, const FoundGroup& next,
                     std::uint32_t previous_crc) {
  if (next.offset != format::second_seal_at(begin) || next.header.group == 0) return false;
  const auto heads = format::group_header_size + format::record_header_size;
  const LogEnd here{next.header.first_sequence - 1, next.header.group - 1, previous_crc, 0};
  const auto seal = seal_at(segment.epoch, here, next.offset - begin - heads);
  return format::decode_group(seal)->crc == next.header.previous_crc;
}

bool is_torn_seal(std::string_view bytes, std::uint64_t epoch, const LogEnd& here) {
  if (bytes.size() > format::second_seal_size || all_zeros(bytes)) return false;
  const std::string whole = seal_at(epoch, here, 0).substr(0, bytes.size());
  const auto same = static_cast<std::size_t>(
      std::mismatch(bytes.begin(), bytes.end(), whole.begin()).first - bytes.begin());
  const auto first = bytes.find_first_not_of('\0');
  return all_zeros(bytes.substr(same)) || bytes.substr(first) == whole.substr(first);
}

GoesOn goes_on_without_header(std::string_view bytes, std::uint64_t next) noexcept {
  constexpr std::size_t window = 64U << 10U;  // where the first whole one begins at the latest
  constexpr std::uint64_t lost = format::sector / format::record_header_size;  // before it, at most
  const auto end = std::min(window, bytes.size());
  std::uint64_t checked = 0;
  for (auto at = format::group_header_size; at + format::record_header_size <= end; ++at) {
    const auto header = format::decode_record(bytes.data() + at);
    const auto behind = bytes.size() - at - format::record_header_size;
    if (header.type == 0 || header.size > behind) continue;
    // Text of two bytes a letter is full of what may be the length of a record.
    if (checked + header.size > most_checked) continue;
    checked += header.size;
    const Outline outline{at, header,
                          crc32c(0, bytes.substr(at + format::record_header_size, header.size))};
    // The first one is where it should be, or nobody knows how many are lost before it.
    const auto most = at == format::group_header_size ? next : next + lost;
    for (auto sequence = next; sequence <= most; ++sequence) {
      const auto crc = format::record_crc(outline.body_crc, sequence, header.type);
      if (crc == header.crc) return {outline.end(), checked};
    }
  }
  return {0, checked};
}

Result<std::vector<Salvaged>> salvage(Segment& segment, std::uint64_t begin, std::uint64_t end,
                                      std::optional<std::uint64_t> sequence) {
  // Records may begin and end with zeros, but a file can be longer than memory is large.
  constexpr std::uint64_t zeros_of_records = 64U << 20U;
  const auto written = written_bytes(segment, begin, end);
  if (!written) return written.error();
  if (!*written) return std::vector<Salvaged>();
  const auto [first, behind] = **written;
  if (first - begin > zeros_of_records) begin = format::aligned(first - zeros_of_records);
  end = std::min({end, behind + zeros_of_records, format::longest_segment});
  if (begin >= end) return std::vector<Salvaged>();
  std::string bytes(end - begin, '\0');
  const auto got = segment.file->read_at(begin, bytes.data(), bytes.size());
  if (!got) return got.error();
  bytes.resize(*got);
  return Stretch(segment, begin, bytes).run(sequence);
}

}  // namespace dlo
