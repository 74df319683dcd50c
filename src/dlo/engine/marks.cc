#include "dlo/engine/marks.h"

#include <algorithm>

namespace dlo {
namespace {

/// A record that changes each time we look is left alone.
constexpr std::uint32_t most_tries = 5;

Transition without_mark(const Marks::Mark& mark, TimePoint now) {
  Transition transition;
  transition.id = mark.id;
  transition.expected_version = mark.version;
  transition.to = mark.status;
  transition.now = now;
  transition.source_unsettled = false;
  return transition;
}

}  // namespace

void Marks::settled(const Mark& mark) {
  const std::lock_guard lock(mutex_);
  owed_.push_back(mark);
}

std::size_t Marks::size() const {
  const std::lock_guard lock(mutex_);
  return owed_.size();
}

/// False: there is nothing to take off.
bool Marks::look_up(Mark& mark) {
  const auto detail = office_.get(mark.id);
  if (!detail) return detail.error().code != Code::not_found;
  const DeadLetter& record = detail->record;
  if (!record.source_unsettled || record.occurrence != mark.occurrence) return false;
  if (++mark.tries > most_tries) return false;
  mark.status = record.status;
  mark.version = record.version;
  return true;
}

void Marks::put(std::size_t limit, TimePoint now, std::vector<Change>& out) {
  {
    const std::lock_guard lock(mutex_);
    const auto end = owed_.begin() + static_cast<std::ptrdiff_t>(std::min(limit, owed_.size()));
    under_way_.assign(owed_.begin(), end);
    owed_.erase(owed_.begin(), end);
  }
  std::vector<Mark> later;
  std::erase_if(under_way_, [&](Mark& mark) {
    if (mark.version) return false;
    if (!look_up(mark)) return true;
    if (!mark.version) later.push_back(mark);  // the office could not be asked
    return !mark.version;
  });
  for (const Mark& mark : under_way_) out.emplace_back(without_mark(mark, now));
  for (const Mark& mark : later) settled(mark);
}

void Marks::refused(bool touched) {
  const std::lock_guard lock(mutex_);
  for (Mark& mark : under_way_) {
    if (touched) mark.version.reset();
    owed_.push_back(mark);
  }
  under_way_.clear();
}

}  // namespace dlo
