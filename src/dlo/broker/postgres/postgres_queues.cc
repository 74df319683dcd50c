#include "dlo/broker/postgres/postgres_queues.h"

#include <algorithm>
#include <utility>

#include "dlo/broker/postgres/hub.h"
#include "dlo/broker/postgres/schema.h"

namespace dlo {
namespace {

using namespace postgres;  // NOLINT: this file is the seam's side of that namespace

const std::string declare_queue =
    "SELECT declare_queue($1, $2, $3, $4, $5 <> 0, $6 <> 0, $7 <> 0, $8, $9, $10, $11)";
const std::string find_queue =
    "SELECT number, ageing, keys_in_order, claims_count, drop_expired, max_messages, max_bytes, "
    "dedupe_window, ttl FROM queues WHERE name = $1";

/// A step of priority worth more than this is worth for ever.
constexpr Millis longest_ageing{std::int64_t{1} << 50U};

std::optional<std::int64_t> signed_of(const std::optional<std::uint64_t>& limit) {
  if (!limit) return std::nullopt;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(*limit, INT64_MAX));
}

std::optional<std::uint64_t> limit_in(const Row& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.as<std::uint64_t>(column);
}

SourceOptions options_in(const Row& row, const std::string& name) {
  SourceOptions options;
  options.source = name;
  options.ageing = Millis{row.number(1)};
  options.keys_in_order = row.number(2) != 0;
  options.claims_count = row.number(3) != 0;
  options.drop_expired = row.number(4) != 0;
  options.max_messages = limit_in(row, 5);
  options.max_bytes = limit_in(row, 6);
  options.dedupe_window = Millis{row.number(7)};
  if (!row.is_null(8)) options.ttl = Millis{row.number(8)};
  return options;
}

Params settings_of(const SourceOptions& options, const Hub& hub) {
  std::optional<std::int64_t> ttl;
  if (options.ttl) ttl = options.ttl->count();
  const Instant now = hub.latest();
  return Params(options.source, hub.even(now), now.wall,
                std::min(options.ageing, longest_ageing).count(), options.keys_in_order,
                options.claims_count, options.drop_expired, signed_of(options.max_messages),
                signed_of(options.max_bytes), options.dedupe_window.count(), ttl);
}

template <typename Queue>
Result<std::unique_ptr<OwnQueue>> as_own(Result<std::unique_ptr<Queue>> queue) {
  if (!queue) return queue.error();
  return std::unique_ptr<OwnQueue>(std::move(*queue));
}

}  // namespace

PostgresQueues::PostgresQueues(std::shared_ptr<Hub> hub) : hub_(std::move(hub)) {}

PostgresQueues::~PostgresQueues() {
  (void)close();
}

Result<std::unique_ptr<PostgresQueues>> PostgresQueues::open(const std::string& address,
                                                             Instant now,
                                                             const PostgresQueueOptions& options) {
  if (auto fine = check_address(address); !fine) return fine.error();
  if (auto fine = check_schema_of(queue_holding(options.schema)); !fine) return fine.error();
  std::shared_ptr<Hub> hub;
  try {
    hub = std::make_shared<Hub>(address, options, now);
  } catch (const postgres::Failed& failed) {
    return failed.error;
  }
  if (auto ended = hub->end_leases_of_the_dead(now); !ended) return ended.error();
  return std::unique_ptr<PostgresQueues>(new PostgresQueues(std::move(hub)));
}

Result<std::unique_ptr<PostgresQueue>> PostgresQueues::declare(const SourceOptions& options) {
  if (auto fine = check(options); !fine) return fine.error();
  if (options.source.empty() || options.source.size() > 1024) {
    return Error{Code::invalid_argument, "postgres.declare",
                 "a queue needs a name of up to 1024 bytes; nothing was made"};
  }
  return hub_->lastingly(
      "postgres.declare", [&](Connection& connection) -> Result<std::unique_ptr<PostgresQueue>> {
        const Rows made = connection.ask(declare_queue, settings_of(options, *hub_), Plan::once);
        return std::make_unique<PostgresQueue>(hub_, static_cast<int>(made.front().number(0)),
                                               options);
      });
}

Result<std::unique_ptr<PostgresQueue>> PostgresQueues::find(const std::string& name) {
  return hub_->quickly("postgres.find",
                       [&](Connection& connection) -> Result<std::unique_ptr<PostgresQueue>> {
                         const Rows found = connection.ask(find_queue, Params(name), Plan::once);
                         if (found.empty()) {
                           return Error{Code::not_found, "postgres.find",
                                        "there is no queue \"" + name + "\" in " + hub_->place()};
                         }
                         const Row row = found.front();
                         return std::make_unique<PostgresQueue>(
                             hub_, static_cast<int>(row.number(0)), options_in(row, name));
                       });
}

Result<void> PostgresQueues::check(const SourceOptions& options) const {
  if (options.on_death == OnDeath::hold) {
    return Error{Code::invalid_argument, "postgres.declare",
                 "queue \"" + options.source +
                     "\" is in PostgreSQL, where a death cannot hold its key yet: several servers "
                     "would let it go, each at its own time. Set on_death to continue, or keep "
                     "queues in the directory of a server (queues: data)"};
  }
  return dlo::check(options);
}

Result<std::unique_ptr<OwnQueue>> PostgresQueues::make(const SourceOptions& options) {
  return as_own(declare(options));
}

Result<std::unique_ptr<OwnQueue>> PostgresQueues::existing(const std::string& name) {
  return as_own(find(name));
}

std::vector<std::string> PostgresQueues::names() const {
  auto found = hub_->quickly(
      "postgres.names", [&](Connection& connection) -> Result<std::vector<std::string>> {
        std::vector<std::string> names;
        const Rows rows = connection.ask("SELECT name FROM queues ORDER BY name");
        for (const Row row : rows) names.push_back(row.text(0));
        return names;
      });
  return found ? std::move(*found) : std::vector<std::string>{};
}

QueuesHealth PostgresQueues::health() const {
  return hub_->health();
}

Result<void> PostgresQueues::close_at(std::optional<Instant> now) {
  hub_->close(now.value_or(hub_->latest()), false);
  return {};
}

void PostgresQueues::abandon() {
  hub_->close(hub_->opened_at(), true);
}

Result<std::uint64_t> PostgresQueues::end_leases_of_the_dead(Instant now) {
  return hub_->end_leases_of_the_dead(now);
}

const std::string& PostgresQueues::place() const noexcept {
  return hub_->place();
}

}  // namespace dlo
