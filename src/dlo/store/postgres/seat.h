#pragma once

#include <cstdint>
#include <string>

#include "dlo/postgres/connection.h"

namespace dlo::postgres {

/// The number of a lock that programs agree on by its name: not that of a neighbour's schema in the
/// same database.
[[nodiscard]] std::int64_t advisory_lock(const std::string& name);

/// The place of the one program that serves an office. It is held by the very connection that
/// writes: whoever lost it cannot write either, so two programs never do at the same time.
/// Belongs to one thread.
class Seat {
 public:
  /// `who` is what others are told who find it taken.
  Seat(const std::string& schema, std::string who);

  /// Takes the seat for a new connection. Throws `Failed` (refused) if another program has it. A
  /// connection of our own that was lost without the server noticing is ended by it.
  void take(Connection& connection);

 private:
  [[nodiscard]] bool try_take(Connection& connection) const;
  [[noreturn]] void refuse(Connection& connection) const;
  [[nodiscard]] Rows holder(Connection& connection) const;

  std::string schema_;
  std::string who_;
  std::int64_t lock_;
  int before_ = 0;  // our connection before this one
};

}  // namespace dlo::postgres
