#include "dlo/store/postgres/node_seat.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "dlo/store/postgres/seat.h"

namespace dlo::postgres {
namespace {

constexpr Millis slice{100};  // within which a stop is noticed
constexpr Millis soon{250};   // an answer that says what time it is

const std::string try_lock = "SELECT pg_try_advisory_lock($1)";
const std::string read_time = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const std::string name_connection =
    "SELECT set_config('application_name', convert_from($1, 'UTF8'), false)";

std::string settings_of(const NodeSeatOptions& options) {
  return "SET client_min_messages = warning; SET statement_timeout = '5s'; "
         "SET idle_session_timeout = '" +
         std::to_string(options.silence.count()) + "ms'; LISTEN \"" + hint_channel(options.schema) +
         "\"";
}

}  // namespace

std::string hint_channel(const std::string& schema) {
  return "dlo_" + std::to_string(static_cast<std::uint64_t>(advisory_lock("dlo tells " + schema)));
}

NodeSeat::NodeSeat(const std::string& address, NodeSeatOptions options)
    : options_(std::move(options)),
      lock_(seat_lock(options_.schema)),
      link_(address, settings_of(options_), [this](Connection& connection) {
        held_ = false;
        (void)connection.ask(name_connection, Params(options_.who), Plan::once);
      }) {}

std::optional<Millis> NodeSeat::measured(Connection& connection) const {
  using Steady = std::chrono::steady_clock;
  const auto asked = Steady::now();
  const Millis theirs{connection.ask(read_time).front().number(0)};
  const auto took = Steady::now() - asked;
  if (took > soon) return std::nullopt;  // it may have looked at it at any moment in between
  return theirs - std::chrono::floor<Millis>((asked + took / 2).time_since_epoch());
}

Result<std::optional<Millis>> NodeSeat::measure() {
  try {
    return measured(link_.use());
  } catch (const Failed& failed) {
    leave();
    return failed.error;
  }
}

Result<SeatView> NodeSeat::look() {
  try {
    SeatView view;
    Connection& db = link_.use();
    view.clock = measured(db);
    if (!held_ && db.ask(try_lock, Params(lock_)).front().number(0) != 0) {
      held_ = true;
      ++turns_;
    }
    if (held_) {
      view.turn = turns_;
      view.holder = options_.who;
    } else {
      view.holder = seat_holder(db, lock_);
    }
    return view;
  } catch (const Failed& failed) {
    leave();
    return failed.error;
  }
}

bool NodeSeat::wait(Millis wait, const std::stop_token& stop) {
  for (Millis left = wait; left > Millis{0} && !stop.stop_requested(); left -= slice) {
    Connection* const db = link_.current();
    const Millis now = std::min(left, slice);
    if (db == nullptr || db->is_lost()) {
      std::this_thread::sleep_for(now);
      continue;
    }
    try {
      const auto told = db->hear(now);
      if (std::ranges::any_of(told, [&](const auto& by) { return by != options_.hinted_by; })) {
        return true;
      }
    } catch (const Failed&) {
      leave();
      return false;
    }
  }
  return false;
}

void NodeSeat::leave() noexcept {
  held_ = false;
  link_.drop();
}

}  // namespace dlo::postgres
