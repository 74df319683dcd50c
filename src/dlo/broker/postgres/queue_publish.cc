// Taking messages in: stamped, measured, all or none.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "dlo/broker/moments.h"
#include "dlo/broker/postgres/envelope.h"
#include "dlo/broker/postgres/hub.h"
#include "dlo/broker/postgres/postgres_queues.h"
#include "dlo/broker/sealing.h"
#include "dlo/core/sha256.h"

namespace dlo {
namespace {

using namespace postgres;  // NOLINT: this file is the seam's side of that namespace

const std::string publish_some =
    "SELECT * FROM publish($1::integer, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
const std::string lock_room =
    "SELECT pg_advisory_xact_lock(locks + 64) FROM queues WHERE number = $1";
const std::string lock_keys = "SELECT lock_keys(locks, $2) FROM queues WHERE number = $1";
const std::string load_of = "SELECT here, weight FROM load_of($1::integer)";
const std::string drop_expired = "SELECT drop_expired($1::integer, $2, $3)";

// What one statement takes; a batch may be several of them in one transaction.
constexpr std::size_t most_messages_at_once = 4'000;
constexpr std::uint64_t most_bytes_at_once = 32U << 20U;

/// One byte more says that it is a replay's, which is remembered for longer.
std::string known_by(const Publication& publication) {
  const Digest digest = sha256(publication.dedupe_id);
  return {digest.begin(), digest.begin() + (publication.replay ? 17 : 16)};
}

/// Arrays in step, as `publish` takes them.
struct Arrays {
  std::vector<std::int64_t> dues;
  std::vector<std::int32_t> priorities;
  std::vector<std::int64_t> keys;
  std::vector<std::int64_t> expiries;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> counts;
  std::vector<std::string> envelopes;
  std::vector<std::string> payloads;
  std::vector<std::string> ids;
  std::uint64_t bytes = 0;
  bool has_keys = false;
  bool has_counts = false;
  bool has_ids = false;
};

}  // namespace

/// One call of publish, in the form in which the server takes it.
struct PostgresQueue::Batch {
  Batch(const SourceOptions& settings, Moment at, std::span<const Publication> messages,
        const Failure* undecodable)
      : options(settings), moment(at) {
    std::unordered_map<std::string_view, std::size_t> seen;
    for (const Publication& each : messages) {
      const bool remembers = options.dedupe_window > Millis{0} && !each.dedupe_id.empty();
      if (remembers) {
        const auto [first, is_new] = seen.emplace(each.dedupe_id, count);
        sent_as.push_back(first->second);
        repeats_here.push_back(!is_new);
        if (!is_new) continue;
      } else {
        sent_as.push_back(count);
        repeats_here.push_back(false);
      }
      add(each, remembers, undecodable);
    }
  }

  void add(const Publication& publication, bool remembers, const Failure* undecodable) {
    const Message& message = *publication.message;
    const std::uint64_t weight = weight_of(message);
    if (pieces.empty() || pieces.back().dues.size() == most_messages_at_once ||
        pieces.back().bytes + weight > most_bytes_at_once) {
      pieces.emplace_back();
    }
    Arrays& to = pieces.back();
    auto expires = message.expires_at;
    if (!expires && options.ttl) expires = later(moment.wall, *options.ttl);
    const auto enqueued = message.enqueued_at == TimePoint{} ? moment.wall : message.enqueued_at;
    to.dues.push_back(later(moment.even, publication.delay).time_since_epoch().count());
    to.priorities.push_back(static_cast<std::int32_t>(message.priority));
    to.keys.push_back(hash_of_key(message.key));
    to.expiries.push_back(expires.value_or(TimePoint::max()).time_since_epoch().count());
    to.sizes.push_back(static_cast<std::int64_t>(weight));
    const Counters& counters = publication.counters;
    for (const std::uint32_t each :
         {counters.fetch, counters.attempt, counters.failure, counters.abandon, counters.retry,
          counters.replay, counters.total}) {
      to.counts.push_back(each);
    }
    to.envelopes.push_back(encode_envelope(message, enqueued, false, undecodable));
    to.payloads.push_back(message.payload.value_or(""));
    to.ids.push_back(remembers ? known_by(publication) : std::string());
    to.bytes += weight;
    to.has_keys = to.has_keys || to.keys.back() != 0;
    to.has_counts = to.has_counts || counters != Counters{};
    to.has_ids = to.has_ids || remembers;
    weights.push_back(weight);
    bytes += weight;
    ++count;
  }

  void send(Connection& connection, int queue) const {
    if (pieces.size() > 1) {  // in one order, before any of them
      std::vector<std::int64_t> keys;
      for (const Arrays& each : pieces) keys.insert(keys.end(), each.keys.begin(), each.keys.end());
      connection.send(lock_keys, Params(queue, keys));
    }
    static const std::vector<std::int64_t> no_numbers;
    static const std::vector<std::string> no_ids;
    for (const Arrays& each : pieces) {
      connection.send(
          publish_some,
          Params(queue, moment.even, moment.wall, each.dues, each.priorities,
                 each.has_keys ? each.keys : no_numbers, each.expiries, each.sizes,
                 each.has_counts ? each.counts : no_numbers, each.envelopes, each.payloads,
                 each.has_ids ? each.ids : no_ids, options.dedupe_window.count()));
    }
  }

  /// `answers`: those of `send`, maybe behind others.
  void read(std::span<const Rows> answers) {
    stands.clear();
    for (const Rows& rows : answers.last(pieces.size())) {
      for (const Row row : rows) stands.emplace_back(row.number(0), row.number(1) != 0);
    }
    fresh = {};
    for (std::size_t i = 0; i < stands.size(); ++i) {
      if (stands[i].second) continue;
      ++fresh.messages;
      fresh.bytes += weights[i];
    }
  }

  [[nodiscard]] std::vector<PublishAnswer> answers(const std::string& partition) const {
    std::vector<PublishAnswer> out;
    for (std::size_t i = 0; i < sent_as.size(); ++i) {
      const auto& [place, repeats] = stands[sent_as[i]];
      out.push_back({repeats || repeats_here[i], Position{partition, place}});
    }
    return out;
  }

  const SourceOptions& options;
  Moment moment;
  std::vector<Arrays> pieces;
  std::vector<std::size_t> sent_as;  // of each publication: which of those that are sent it is
  std::vector<bool> repeats_here;    // one before it in the batch has its id
  std::vector<std::uint64_t> weights;
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::int64_t, bool>> stands;
  Load fresh;
};

Result<std::vector<PublishAnswer>> PostgresQueue::publish(std::span<const Publication> messages,
                                                          Instant now) {
  return add(messages, nullptr, now);
}

Result<PublishAnswer> PostgresQueue::publish_undecodable(std::string bytes, const Failure& why,
                                                         Instant now) {
  auto raw = std::make_shared<Message>();
  raw->payload = std::move(bytes);
  Publication publication;
  publication.message = std::move(raw);
  auto answers = add({&publication, 1}, &why, now);
  if (!answers) return answers.error();
  return answers->front();
}

Result<std::vector<PublishAnswer>> PostgresQueue::add(std::span<const Publication> messages,
                                                      const Failure* undecodable, Instant now) {
  if (auto fine = check_open("postgres.publish"); !fine) return fine.error();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].message != nullptr) continue;
    return Error{Code::invalid_argument, "postgres.publish",
                 "publication " + std::to_string(i) + " of " + std::to_string(messages.size()) +
                     " holds no message; nothing of the batch was taken"};
  }
  const auto moment = tell(now);
  if (!moment) return moment.error();
  if (messages.empty()) return std::vector<PublishAnswer>{};
  std::vector<Publication> sealed;
  if (hub_->options().sealer) {
    auto done = queued::seal(*hub_->options().sealer, messages);
    if (!done) return done.error();
    sealed = std::move(*done);
    messages = sealed;
  }
  Batch batch(options_, *moment, messages, undecodable);
  const bool limited = options_.max_messages || options_.max_bytes;
  const auto done =
      hub_->lastingly("postgres.publish", [&](Connection& connection) -> Result<void> {
        if (limited) return add_where_there_is_room(connection, batch);
        batch.send(connection, number_);
        const std::vector<Rows> answers = connection.finish();
        batch.read(answers);
        return {};
      });
  if (!done) return done.error();
  {
    const std::lock_guard lock(mutex_);
    in_rate_.add(batch.fresh.messages, now.steady);
  }
  hub_->ring(number_);
  return batch.answers(hub_->incarnation());
}

/// Publishers of a queue that has a limit take turns, so that it is kept. What would not fit is
/// undone; only where ids are remembered it has to be tried to know how much is new.
Result<void> PostgresQueue::add_where_there_is_room(Connection& connection, Batch& batch) {
  for (bool dropped = false;; dropped = true) {
    connection.run("BEGIN");
    connection.send(lock_room, Params(number_));
    connection.send(load_of, Params(number_));
    const std::vector<Rows> loaded = connection.finish();
    const Row load = loaded[1].front();
    const Load here{load.as<std::uint64_t>(0), load.as<std::uint64_t>(1)};
    const bool known = options_.dedupe_window == Millis{0};
    Result<void> room;
    if (known) room = check_room(options_, here, {batch.count, batch.bytes}, "postgres.publish");
    if (room) {
      batch.send(connection, number_);
      const std::vector<Rows> answers = connection.finish();
      batch.read(answers);
      room = check_room(options_, here, batch.fresh, "postgres.publish");
    }
    connection.run(room ? "COMMIT" : "ROLLBACK");
    if (room || dropped || !options_.drop_expired) return room;
    (void)connection.ask(drop_expired, Params(number_, batch.moment.even, batch.moment.wall));
  }
}

}  // namespace dlo
