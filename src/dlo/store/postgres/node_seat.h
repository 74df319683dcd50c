#pragma once

#include <cstdint>
#include <string>

#include "dlo/postgres/link.h"
#include "dlo/store/leader_seat.h"

namespace dlo::postgres {

/// Where writers tell others that there is something new; what they say is who they are.
[[nodiscard]] std::string hint_channel(const std::string& schema);

struct NodeSeatOptions {
  std::string schema = "dlo";
  std::string who;        // told to others
  std::string hinted_by;  // hints of this writer are our own
  Millis silence{5'000};  // whoever says nothing for so long has left
};

/// The seat as an advisory lock of a connection of its own. The server ends that connection when it
/// hears nothing on it for `silence`: a program that was killed, frozen or cut off loses the seat
/// by the server's clock, whatever its own says.
class NodeSeat final : public LeaderSeat {
 public:
  NodeSeat(const std::string& address, NodeSeatOptions options);

  /// By how much the server's clock is ahead of our steady one, if the answer came soon enough to
  /// tell.
  [[nodiscard]] Result<std::optional<Millis>> measure();

  Result<SeatView> look() override;
  bool wait(Millis wait, const std::stop_token& stop) override;
  void leave() noexcept override;

 private:
  [[nodiscard]] std::optional<Millis> measured(Connection& connection) const;

  const NodeSeatOptions options_;
  const std::int64_t lock_;
  std::uint64_t turns_ = 0;
  bool held_ = false;  // by the connection that there is
  Link link_;          // last: its greeting uses the rest
};

}  // namespace dlo::postgres
