#include "dlo/store/sqlite/damage.h"

#include <new>
#include <utility>

namespace dlo::sqlite {

void Damage::note(const Error& error) noexcept {
  if (error.code != Code::corrupt || found()) return;
  const std::lock_guard lock(mutex_);
  if (found()) return;
  try {
    first_ = error;
  } catch (const std::bad_alloc&) {
    first_.reset();
  }
  found_.store(true, std::memory_order_release);
}

std::optional<Error> Damage::first() const {
  if (!found()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (first_) return first_;
  return Error{Code::corrupt, "sqlite", "the office is damaged; nothing is written to it any more"};
}

void Damage::refuse() const {
  if (auto error = first()) throw sql::Failed{std::move(*error)};
}

}  // namespace dlo::sqlite
