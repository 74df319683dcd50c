// Handing out: claims, long polls, and what a row amounts to.
#include <algorithm>
#include <utility>

#include "dlo/broker/moments.h"
#include "dlo/broker/postgres/envelope.h"
#include "dlo/broker/postgres/hub.h"
#include "dlo/broker/postgres/postgres_queues.h"
#include "dlo/broker/postgres/token.h"
#include "dlo/broker/sealing.h"

namespace dlo {
namespace {

using namespace postgres;  // NOLINT: this file is the seam's side of that namespace
using Steady = std::chrono::steady_clock;

const std::string receive_some =
    "SELECT * FROM receive($1::integer, $2, $3, $4, $5, $6, $7, $8, $9 <> 0)";
const std::string next_due = "SELECT next_due($1::integer, $2, $3)";
const std::string shift_ages = "SELECT shift_ages($1::integer, $2)";

// More than anybody can hold; a statement has to end.
constexpr std::uint64_t most_at_once = 20'000;
// Whoever waits looks by himself this often, whether he is told or not.
constexpr std::chrono::milliseconds looks_again{500};
// Callers that read one clock disagree by a little; only more than this is a jump.
constexpr Millis slack{1000};

/// Columns of `receive`.
enum Column : std::uint8_t {
  place,
  lease,
  key,
  priority,
  flags,
  interruptions,
  expires,
  first_attempt_at,
  previous_delay,
  fetches,
  attempts,
  failures,
  abandons,
  retries,
  replays,
  total,
  error,
  trail,
  envelope,
  payload,
};
constexpr std::int64_t is_interrupted = 4;
constexpr std::int64_t may_repeat = 8;

Counters counters_in(const Row& row) {
  const auto count = [&](Column column) { return row.as<std::uint32_t>(column); };
  Counters counters;
  counters.fetch = count(fetches);
  counters.attempt = count(attempts);
  counters.failure = count(failures);
  counters.abandon = count(abandons);
  counters.retry = count(retries);
  counters.replay = count(replays);
  counters.total = count(total);
  return counters;
}

Failure not_an_envelope() {
  Failure failure;
  failure.type = "UnreadableMessage";
  failure.text = "the row of this message was not written by a queue of this program";
  return failure;
}

}  // namespace

PostgresQueue::PostgresQueue(std::shared_ptr<Hub> hub, int number, SourceOptions options)
    : hub_(std::move(hub)),
      number_(number),
      options_(std::move(options)),
      bell_(hub_->bell(number)),
      latest_(hub_->latest()) {}

PostgresQueue::~PostgresQueue() = default;

void PostgresQueue::close() noexcept {
  closed_ = true;
  bell_->ring();
}

Result<void> PostgresQueue::check_open(const char* where) const {
  if (!closed_ && !hub_->is_closed()) return {};
  return Error{Code::unavailable, where,
               "source \"" + options_.source + "\" is closed; open it again to go on"};
}

/// Whoever waited when a clock went back keeps the age it had, or newcomers of a higher priority
/// would pass for ever.
Result<PostgresQueue::Moment> PostgresQueue::tell(const Instant& now) {
  const Moment moment{hub_->even(now), now.wall};
  Millis jump{0};
  {
    const std::lock_guard lock(mutex_);
    const Millis back = latest_.steady - now.steady;
    if (back > slack) jump = back;
    if (back < Millis{0} || jump > Millis{0}) latest_ = now;
  }
  hub_->note(now);
  if (jump == Millis{0}) return moment;
  const auto shifted = hub_->quickly("postgres.clock", [&](Connection& connection) -> Result<void> {
    (void)connection.ask(shift_ages, Params(number_, jump.count()));
    return {};
  });
  if (!shifted) return shifted.error();
  return moment;
}

Instant PostgresQueue::latest() {
  const std::lock_guard lock(mutex_);
  return latest_;
}

Result<std::vector<Delivery>> PostgresQueue::receive(const ReceiveRequest& request, Instant now) {
  if (request.lease_for < Millis{1}) {
    return Error{Code::invalid_argument, "postgres.receive",
                 "lease_for must be at least 1 ms, or the lease is over before it is answered; "
                 "nothing was leased"};
  }
  const auto began = Steady::now();
  const auto longest = std::min(request.wait, Millis{std::chrono::hours{24}});
  const auto deadline = began + std::max(longest, Millis{0});
  for (Instant moment = now;;) {
    if (auto fine = check_open("postgres.receive"); !fine) return fine.error();
    const std::uint64_t heard = bell_->rings();
    std::optional<TimePoint> next;
    const auto looked = Steady::now();
    auto got = take(request, moment, next);
    const bool waits = request.limit > 0 && !request.expired_only && looked < deadline;
    if (!got || !got->empty() || !waits || request.stop.stop_requested()) return got;
    auto until = std::min(deadline, looked + looks_again);
    if (next && *next < later(hub_->even(now), longest)) {
      until = std::min(until, began + std::max(Millis{0}, *next - hub_->even(now)));
    }
    bell_->wait(heard, until, request.stop);
    moment = later(now, std::chrono::floor<Millis>(Steady::now() - began));
  }
}

Result<std::vector<Delivery>> PostgresQueue::take(const ReceiveRequest& request, const Instant& now,
                                                  std::optional<TimePoint>& next) {
  const auto moment = tell(now);
  if (!moment) return moment.error();
  const auto limit = std::min<std::uint64_t>(request.limit, most_at_once);
  if (limit == 0) return std::vector<Delivery>{};
  const auto bytes = std::min<std::uint64_t>(request.bytes, INT64_MAX);
  const auto until = later(moment->even, request.lease_for);
  const std::uint64_t heard = bell_->rings();
  const auto looked = Steady::now();
  auto taken = hub_->quickly(
      "postgres.receive", [&](Connection& connection) -> Result<std::vector<Delivery>> {
        const std::int64_t base = hub_->draw_leases(limit + 1);
        connection.send(receive_some, Params(number_, moment->even, moment->wall, limit, bytes,
                                             until, hub_->holder(), base, request.expired_only));
        connection.send(next_due, Params(number_, moment->even, moment->wall));
        const std::vector<Rows> answers = connection.finish();
        std::vector<std::pair<std::uint64_t, Delivery>> in_order;
        for (const Row row : answers[0]) {
          const auto nth = row.as<std::uint64_t>(lease) - static_cast<std::uint64_t>(base);
          in_order.emplace_back(nth, delivery_of(row, request, now));
        }
        std::sort(in_order.begin(), in_order.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        std::vector<Delivery> deliveries;
        for (auto& each : in_order) deliveries.push_back(std::move(each.second));
        next = answers[1].front().maybe_time(0);
        return deliveries;
      });
  if (!taken) return taken;
  if (hub_->options().sealer) queued::open(*hub_->options().sealer, *taken);
  const std::lock_guard lock(mutex_);
  empty_ = {heard, next, std::nullopt};
  if (taken->empty()) empty_.at = looked;
  return taken;
}

bool PostgresQueue::may_have_some(Instant now) {
  const std::uint64_t rung = bell_->rings();
  const std::lock_guard lock(mutex_);
  if (!empty_.at || empty_.heard != rung) return true;
  if (empty_.next && *empty_.next <= hub_->even(now)) return true;
  return Steady::now() - *empty_.at >= looks_again;
}

MessagePtr PostgresQueue::message_of(std::string_view envelope_bytes, std::string_view body,
                                     std::int64_t place_of_it, Priority its_priority,
                                     std::optional<TimePoint> its_expiry,
                                     std::shared_ptr<const Failure>& undecodable) const {
  Envelope opened = decode_envelope(envelope_bytes);
  undecodable = opened.undecodable;
  if (!opened.message) {
    opened.message = std::make_shared<Message>();
    opened.has_payload = true;
    undecodable = std::make_shared<const Failure>(not_an_envelope());
  }
  if (opened.has_payload) opened.message->payload.emplace(body);
  opened.message->source = options_.source;
  opened.message->priority = its_priority;
  opened.message->expires_at = its_expiry;
  opened.message->position = Position{hub_->incarnation(), place_of_it};
  return std::move(opened.message);
}

Delivery PostgresQueue::delivery_of(const Row& row, const ReceiveRequest& request,
                                    const Instant& now) const {
  Delivery delivery;
  const auto expiry = row.maybe_time(expires);
  delivery.lease = token_of(row.number(place), row.number(lease), row.number(key) != 0);
  delivery.message =
      message_of(row.view(envelope), row.view(payload), row.number(place),
                 static_cast<Priority>(row.number(priority)), expiry, delivery.undecodable);
  delivery.counters = counters_in(row);
  delivery.leased_until = later(now.wall, request.lease_for);
  delivery.steady_until = later(now.steady, request.lease_for);
  delivery.may_be_repeat = (row.number(flags) & may_repeat) != 0 || delivery.counters.fetch > 1;
  delivery.interrupted = (row.number(flags) & is_interrupted) != 0;
  delivery.expired = expiry && *expiry <= now.wall;
  delivery.interruptions = row.as<std::uint32_t>(interruptions);
  delivery.first_attempt_at = row.maybe_time(first_attempt_at);
  delivery.previous_delay = Millis{row.number(previous_delay)};
  delivery.last_error = row.text(error);
  delivery.trail = row.text(trail);
  return delivery;
}

}  // namespace dlo
