#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

/// What a look at the seat says.
struct SeatView {
  std::uint64_t turn = 0;         // ours, for the turn of this number; zero: it is not ours
  std::string holder;             // who has it, as far as the office can tell
  std::optional<Millis> clock{};  // the office's is ahead of our steady one by so much
};

/// The seat of the one that leads among several programs on one office. The office gives it to one
/// at a time, and to another when whoever had it is gone or stands still: so it has to be looked
/// after. Who lost it may not know yet, so it is no right to write: `FencedOffice` is.
/// Threads  Belongs to one.
class LeaderSeat {
 public:
  virtual ~LeaderSeat() = default;

  /// Keeps it if it is ours, takes it if it is free. Every time it is taken begins another turn. An
  /// error: it is not ours, or not for long.
  virtual Result<SeatView> look() = 0;
  /// Waits until somebody else says that something was written, `wait` at most; false: nobody did.
  /// It is a hint: what is not said has happened all the same.
  virtual bool wait(Millis wait, const std::stop_token& stop) = 0;
  /// Others may have it.
  virtual void leave() noexcept = 0;
};

}  // namespace dlo
