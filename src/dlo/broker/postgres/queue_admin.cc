// Numbers, and what people do to a queue.
#include <utility>

#include "dlo/broker/postgres/envelope.h"
#include "dlo/broker/postgres/hub.h"
#include "dlo/broker/postgres/postgres_queues.h"
#include "dlo/broker/sealing.h"

namespace dlo {
namespace {

using namespace postgres;  // NOLINT: this file is the seam's side of that namespace

const std::string all_numbers = "SELECT * FROM numbers($1::integer, $2, $3)";
const std::string pause_it = "UPDATE queues SET paused = $2 <> 0 WHERE number = $1";
const std::string purge_it = "SELECT purge($1::integer, $2, $3)";
const std::string free_it = "SELECT free_key($1::integer, $2, $3, $4)";
const std::string advance = "SELECT advance($1::integer, $2, $3)";
const std::string peek_some =
    "SELECT place, priority, expires, envelope, payload FROM messages "
    "WHERE queue = $1::integer AND state <> 2 ORDER BY place LIMIT $2";
const std::string lock_room =
    "SELECT pg_advisory_xact_lock(locks + 64) FROM queues WHERE number = $1";
const std::string load_of = "SELECT here, weight FROM load_of($1::integer)";
const std::string move_all = "SELECT move_all($1::integer, $2::integer, $3, $4)";
const std::string waiting_load =
    "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM messages "
    "WHERE queue = $1::integer AND state <> 2";

Load load_in(const Row& row) {
  return {row.as<std::uint64_t>(0), row.as<std::uint64_t>(1)};
}

}  // namespace

Result<SourceStats> PostgresQueue::stats(Instant now) {
  if (auto fine = check_open("postgres.stats"); !fine) return fine.error();
  const auto moment = tell(now);
  if (!moment) return moment.error();
  auto found = hub_->quickly("postgres.stats", [&](Connection& connection) -> Result<SourceStats> {
    const Rows rows = connection.ask(all_numbers, Params(number_, moment->even, moment->wall));
    const Row row = rows.front();
    SourceStats stats;
    stats.published = row.as<std::uint64_t>(0);
    stats.completed = row.as<std::uint64_t>(1);
    stats.dead_lettered = row.as<std::uint64_t>(2);
    stats.expired = row.as<std::uint64_t>(3);
    stats.purged = row.as<std::uint64_t>(4);
    stats.delayed = row.as<std::uint64_t>(5);
    stats.leased = row.as<std::uint64_t>(6);
    stats.held = row.as<std::uint64_t>(7);
    stats.bytes = row.as<std::uint64_t>(8);
    stats.paused = row.number(9) != 0;
    stats.ready = stats.published - stats.completed - stats.dead_lettered - stats.expired -
                  stats.purged - stats.delayed - stats.leased - stats.held;
    if (row.is_null(10)) return stats;
    const Envelope oldest = decode_envelope(row.view(10));
    if (oldest.message) stats.oldest = oldest.message->enqueued_at;
    return stats;
  });
  if (!found) return found;
  const std::lock_guard lock(mutex_);
  found->in_per_second = in_rate_.per_second(now.steady);
  found->out_per_second = out_rate_.per_second(now.steady);
  return found;
}

Result<void> PostgresQueue::set_paused(bool paused) {
  if (auto fine = check_open("postgres.pause"); !fine) return fine.error();
  const auto done = hub_->lastingly("postgres.pause", [&](Connection& connection) -> Result<void> {
    (void)connection.ask(pause_it, Params(number_, paused));
    return {};
  });
  if (done && !paused) hub_->ring(number_);
  return done;
}

Result<std::uint64_t> PostgresQueue::purge() {
  if (auto fine = check_open("postgres.purge"); !fine) return fine.error();
  const Instant now = latest();
  return hub_->lastingly("postgres.purge", [&](Connection& connection) -> Result<std::uint64_t> {
    const Rows gone = connection.ask(purge_it, Params(number_, hub_->even(now), now.wall));
    return gone.front().as<std::uint64_t>(0);
  });
}

Result<std::vector<MessagePtr>> PostgresQueue::peek(std::size_t limit) {
  if (auto fine = check_open("postgres.peek"); !fine) return fine.error();
  const Instant now = latest();
  const auto most = std::min<std::uint64_t>(limit, INT64_MAX);
  auto found = hub_->quickly(
      "postgres.peek", [&](Connection& connection) -> Result<std::vector<MessagePtr>> {
        connection.send(advance, Params(number_, hub_->even(now), now.wall));
        connection.send(peek_some, Params(number_, most));
        const std::vector<Rows> answers = connection.finish();
        std::vector<MessagePtr> messages;
        for (const Row row : answers[1]) {
          std::shared_ptr<const Failure> ignored;
          messages.push_back(message_of(row.view(3), row.view(4), row.number(0),
                                        static_cast<Priority>(row.number(1)), row.maybe_time(2),
                                        ignored));
        }
        return messages;
      });
  if (!found || !hub_->options().sealer) return found;
  for (MessagePtr& each : *found) {
    auto opened = queued::open(*hub_->options().sealer, each);
    if (!opened) return opened.error();
    each = std::move(*opened);
  }
  return found;
}

Result<void> PostgresQueue::free_key(const std::string& key) {
  if (auto fine = check_open("postgres.free_key"); !fine) return fine.error();
  if (key.empty()) return {};
  const Instant now = latest();
  const auto done =
      hub_->lastingly("postgres.free_key", [&](Connection& connection) -> Result<void> {
        (void)connection.ask(free_it, Params(number_, hub_->even(now), now.wall, hash_of_key(key)));
        return {};
      });
  if (done) hub_->ring(number_);
  return done;
}

Result<std::uint64_t> PostgresQueue::move_to(OwnQueue& target) {
  if (auto fine = check_open("postgres.move"); !fine) return fine.error();
  auto* const other = dynamic_cast<PostgresQueue*>(&target);
  if (other == nullptr || other->hub_ != hub_) {
    return Error{Code::invalid_argument, "postgres.move",
                 "both queues must live in one schema of one database; nothing was moved"};
  }
  if (other->number_ == number_) {
    return Error{Code::invalid_argument, "postgres.move",
                 "a queue cannot be moved into itself; nothing was moved"};
  }
  const Instant now = latest();
  const auto moved =
      hub_->lastingly("postgres.move", [&](Connection& connection) -> Result<std::uint64_t> {
        connection.run("BEGIN");
        connection.send(lock_room, Params(other->number_));
        connection.send(advance, Params(number_, hub_->even(now), now.wall));
        connection.send(load_of, Params(other->number_));
        connection.send(waiting_load, Params(number_));
        const std::vector<Rows> loads = connection.finish();
        const auto room = check_room(other->options_, load_in(loads[2].front()),
                                     load_in(loads[3].front()), "postgres.move");
        if (!room) {
          connection.run("ROLLBACK");
          return room.error();
        }
        const Rows went =
            connection.ask(move_all, Params(number_, other->number_, hub_->even(now), now.wall));
        connection.run("COMMIT");
        return went.front().as<std::uint64_t>(0);
      });
  if (moved) hub_->ring(other->number_);
  return moved;
}

}  // namespace dlo
