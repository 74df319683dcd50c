#include "dlo/core/refusal_book.h"

#include <algorithm>

namespace dlo {

std::optional<std::uint64_t> RefusalBook::note(const std::string& asker, TimePoint now) {
  if (askers_.size() >= limits_.most_askers && !askers_.contains(asker)) make_room(now);
  const auto [found, is_new] = askers_.try_emplace(asker, Asker{limits_.at_once, now, 0});
  Asker& known = found->second;
  // A clock that was set back gives nothing.
  const auto earned = std::max(now - known.since, Millis{0}) / limits_.one_more_every;
  if (!is_new && earned > 0) {
    const auto all = std::uint64_t{known.left} + static_cast<std::uint64_t>(earned);
    known.left = static_cast<std::uint32_t>(std::min<std::uint64_t>(all, limits_.at_once));
    known.since += earned * limits_.one_more_every;
  }
  if (known.left == 0) {
    ++known.unwritten;
    return std::nullopt;
  }
  --known.left;
  const std::uint64_t unwritten = known.unwritten;
  known.unwritten = 0;
  return unwritten;
}

void RefusalBook::make_room(TimePoint now) {
  const Millis full_again = limits_.one_more_every * limits_.at_once;
  std::erase_if(askers_, [&](const auto& each) { return now - each.second.since > full_again; });
  // Whoever comes under ever new names shares what is left.
  if (askers_.size() >= limits_.most_askers) askers_.clear();
}

}  // namespace dlo
