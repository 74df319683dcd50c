#pragma once

#include <cstdint>
#include <string>

#include "dlo/postgres/connection.h"

namespace dlo::postgres {

/// The number of a lock that programs agree on by its name: not that of a neighbour's schema in the
/// same database.
[[nodiscard]] std::int64_t advisory_lock(const std::string& name);

/// The lock of who leads on the office in `schema`, and the name of whoever holds it.
[[nodiscard]] std::int64_t seat_lock(const std::string& schema);
[[nodiscard]] std::string seat_holder(Connection& connection, std::int64_t lock);

/// The seat of who leads on an office, for a program that wants to be alone with it: a command that
/// works without a server. It is held by the very connection that writes: whoever lost it cannot
/// write either. Servers take turns with it instead (`leader_seat.h`). Belongs to one thread.
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
