#include "dlo/journal/written_bytes.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dlo/journal/format.h"

namespace dlo {
namespace {

// A hole is asked for only behind so many zeros. No segment of ours has more as a rule, so what it
// holds is always read, whatever a file system believes of its holes.
constexpr std::uint64_t zeros_before_asking = 64U << 20U;

bool all_zeros(std::string_view bytes) noexcept {
  if (bytes.empty()) return true;
  return bytes.front() == '\0' &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

Result<void> look_through(Segment& segment, std::uint64_t from, std::uint64_t until,
                          std::size_t overlap, const LookAtWindow& look) {
  std::string bytes(std::min(window_size + overlap, until - std::min(from, until)), '\0');
  std::uint64_t zeros = 0;
  for (auto base = from; base < until;) {
    const auto wanted = std::min<std::uint64_t>(bytes.size(), until - base);
    const auto got = segment.file->read_at(base, bytes.data(), wanted);
    if (!got) return got.error();
    if (*got == 0) return {};
    const std::string_view view(bytes.data(), *got);
    if (all_zeros(view)) {
      zeros += window_size;
    } else {
      zeros = 0;
      const auto further = look(base, view);
      if (!further) return further.error();
      if (!*further) return {};
    }
    base += window_size;
    if (zeros < zeros_before_asking || base >= until) continue;
    const auto data = segment.file->next_data(base);
    if (!data) return data.error();
    // Not in the middle of a group: they lie at multiples of their alignment.
    base += (std::max(*data, base) - base) / journal_format::group_alignment *
            journal_format::group_alignment;
  }
  return {};
}

Result<std::optional<WrittenBytes>> written_bytes(Segment& segment, std::uint64_t from,
                                                  std::uint64_t until) {
  std::optional<WrittenBytes> found;
  const auto looked = look_through(
      segment, from, until, 0, [&](std::uint64_t base, std::string_view bytes) -> Result<bool> {
        if (!found) found = WrittenBytes{base + bytes.find_first_not_of('\0'), 0};
        found->end = base + bytes.find_last_not_of('\0') + 1;
        return true;
      });
  if (!looked) return looked.error();
  return found;
}

}  // namespace dlo
