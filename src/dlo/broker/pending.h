#pragma once

#include <functional>
#include <utility>
#include <variant>

#include "dlo/core/result.h"

namespace dlo {

/// The answer to something that is decided and written, and not yet on the disk. It cannot be had
/// before it is: `wait` returns it when everything it says is durable. Whoever asks for several
/// things and then waits for each waits for the disk once.
/// One that is dropped takes nothing back: what it stands for is durable with the next sync.
template <typename T>
class [[nodiscard]] Pending {
 public:
  using Wait = std::function<Result<T>()>;

  /// There already, or refused.
  Pending(Result<T> answer) : held_(std::move(answer)) {}
  Pending(Error error) : held_(Result<T>(std::move(error))) {}
  explicit Pending(Wait wait) : held_(std::move(wait)) {}

  /// Once.
  [[nodiscard]] Result<T> wait() && {
    if (auto* answer = std::get_if<Result<T>>(&held_)) return std::move(*answer);
    return std::get<Wait>(held_)();
  }

 private:
  std::variant<Result<T>, Wait> held_;
};

}  // namespace dlo
