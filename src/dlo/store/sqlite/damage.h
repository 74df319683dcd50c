#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "dlo/core/error.h"
#include "dlo/store/sql/failed.h"

namespace dlo::sqlite {

/// What was first found damaged in an office, whoever found it. From then on nothing is written to
/// its files, the log is not folded either: what people copy away to save what can be saved is what
/// was found. Reading goes on as far as it gets.
/// Threads  Any method from any thread.
class Damage {
 public:
  /// Keeps the first that is `Code::corrupt`; anything else is no damage.
  void note(const Error& error) noexcept;
  [[nodiscard]] bool found() const noexcept { return found_.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<Error> first() const;
  /// Throws `Failed` with the first, if there is one.
  void refuse() const;

  /// Runs `body` and notes what it throws on its way.
  template <typename Body>
  auto noting(const Body& body) -> decltype(body()) {
    try {
      return body();
    } catch (const sql::Failed& failed) {
      note(failed.error);
      throw;
    }
  }

 private:
  std::atomic<bool> found_{false};
  mutable std::mutex mutex_;
  std::optional<Error> first_;  // empty although found: there was no memory for it
};

}  // namespace dlo::sqlite
