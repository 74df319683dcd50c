#include "dlo/engine/marks.h"

#include <algorithm>

namespace dlo {

void Marks::settled(const SourceSettled& record) {
  const std::lock_guard lock(mutex_);
  owed_.push_back(record);
}

std::size_t Marks::size() const {
  const std::lock_guard lock(mutex_);
  return owed_.size();
}

void Marks::put(std::size_t limit, std::vector<Change>& out) {
  {
    const std::lock_guard lock(mutex_);
    const auto end = owed_.begin() + static_cast<std::ptrdiff_t>(std::min(limit, owed_.size()));
    under_way_.assign(owed_.begin(), end);
    owed_.erase(owed_.begin(), end);
  }
  out.insert(out.end(), under_way_.begin(), under_way_.end());
}

void Marks::not_written() {
  const std::lock_guard lock(mutex_);
  owed_.insert(owed_.end(), under_way_.begin(), under_way_.end());
  under_way_.clear();
}

}  // namespace dlo
