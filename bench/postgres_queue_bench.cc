// Claim: queues in PostgreSQL send, hand out and settle batches at half the rate or more of a loop
// that somebody writes by hand: a table of id, payload, visible_at and lease, arrays in, FOR UPDATE
// SKIP LOCKED out, no counts, order of keys, priorities, expiry or numbers.
//
// Both work on one server with batches of one size, in one transaction each, over the same
// connection code; the hand-written loop syncs what ours syncs. Rounds are interleaved, medians of
// rates are compared. The server is that of the tests; without it nothing is measured.
//   postgres_queue_bench [--messages 20000] [--rounds 5] [--batch 200] [--bytes 512]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/measure.h"
#include "support/postgres_server.h"
#include "support/require.h"

#include "dlo/broker/postgres/postgres_queues.h"
#include "dlo/postgres/connection.h"

namespace dlo::bench {
namespace {

using Clock = std::chrono::steady_clock;

template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().where + ": " + result.error().detail);
  return std::move(*result);
}

Instant now() {
  return std::chrono::floor<Millis>(std::chrono::system_clock::now());
}

struct Sizes {
  std::size_t messages = 20'000;
  std::size_t rounds = 5;
  std::size_t batch = 200;
  std::size_t bytes = 512;
};

/// Messages a second.
struct Rates {
  double sent = 0;
  double settled = 0;
};

template <typename Work>
double rate(std::size_t messages, const Work& work) {
  const auto began = Clock::now();
  work();
  return static_cast<double>(messages) /
         std::chrono::duration<double>(Clock::now() - began).count();
}

/// As its users build one.
class ByHand {
 public:
  explicit ByHand(const std::string& address)
      : synced_(address, settings), quick_(address, std::string(settings) + unsynced) {
    synced_.run(
        "CREATE TABLE by_hand(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload bytea "
        "NOT "
        "NULL, visible_at bigint NOT NULL, lease bigint NOT NULL DEFAULT 0, fetches bigint NOT "
        "NULL "
        "DEFAULT 0); CREATE INDEX by_hand_visible ON by_hand(visible_at, id)");
  }

  void send(const std::vector<std::string>& payloads) {
    (void)synced_.ask("INSERT INTO by_hand(payload, visible_at) SELECT unnest($1), 0",
                      postgres::Params(payloads));
  }

  [[nodiscard]] std::size_t take_and_settle(std::size_t batch) {
    ++lease_;
    const postgres::Rows rows = quick_.ask(
        "UPDATE by_hand SET visible_at = $2, lease = $3, fetches = fetches + 1 WHERE id IN (SELECT "
        "id FROM by_hand WHERE visible_at <= $1 ORDER BY visible_at, id LIMIT $4 FOR UPDATE SKIP "
        "LOCKED) RETURNING id, payload, fetches",
        postgres::Params(std::int64_t{1}, std::int64_t{1'000'000}, lease_, batch));
    std::vector<std::int64_t> ids;
    for (const postgres::Row row : rows) {
      ids.push_back(row.number(0));
      bytes_ += row.text(1).size();
    }
    if (ids.empty()) return 0;
    const postgres::Rows gone =
        synced_.ask("DELETE FROM by_hand WHERE id = ANY($1) AND lease = $2 RETURNING id",
                    postgres::Params(ids, lease_));
    return static_cast<std::size_t>(gone.size());
  }

 private:
  static constexpr const char* settings =
      "SET client_min_messages = warning; SET enable_seqscan = off; SET enable_hashjoin = off; SET "
      "jit = off";
  static constexpr const char* unsynced = "; SET synchronous_commit = off";
  postgres::Connection synced_;
  postgres::Connection quick_;
  std::int64_t lease_ = 0;
  std::size_t bytes_ = 0;
};

Rates run_by_hand(ByHand& queue, const Sizes& sizes, const std::string& body) {
  Rates rates;
  const std::vector<std::string> payloads(sizes.batch, body);
  rates.sent = rate(sizes.messages, [&] {
    for (std::size_t n = 0; n < sizes.messages; n += sizes.batch) queue.send(payloads);
  });
  rates.settled = rate(sizes.messages, [&] {
    for (std::size_t done = 0; done < sizes.messages;) {
      const std::size_t some = queue.take_and_settle(sizes.batch);
      if (some == 0) throw std::runtime_error("messages are missing");
      done += some;
    }
  });
  return rates;
}

Rates run_ours(PostgresQueue& queue, const Sizes& sizes, const std::string& body) {
  Rates rates;
  auto message = std::make_shared<Message>();
  message->payload = body;
  Publication one;
  one.message = message;
  const std::vector<Publication> batch(sizes.batch, one);
  rates.sent = rate(sizes.messages, [&] {
    for (std::size_t n = 0; n < sizes.messages; n += sizes.batch) must(queue.publish(batch, now()));
  });
  rates.settled = rate(sizes.messages, [&] {
    for (std::size_t done = 0; done < sizes.messages;) {
      const auto got = must(queue.receive({sizes.batch, Millis{60'000}, Millis{0}}, now()));
      if (got.empty()) throw std::runtime_error("messages are missing");
      std::vector<Settlement> endings;
      for (const Delivery& each : got) endings.push_back({each.lease, Completed{}});
      must(queue.settle(endings, now()));
      done += got.size();
    }
  });
  return rates;
}

Sizes read_sizes(int argc, char** argv) {
  Sizes sizes;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const auto value = static_cast<std::size_t>(std::strtoull(argv[i + 1], nullptr, 10));
    if (name == "--messages") sizes.messages = value;
    if (name == "--rounds") sizes.rounds = value;
    if (name == "--batch") sizes.batch = value;
    if (name == "--bytes") sizes.bytes = value;
  }
  return sizes;
}

int run(const Sizes& sizes) {
  const testing::PostgresServer server({"shared_buffers=256MB", "autovacuum=on"});
  ByHand hand(server.address());
  const auto queues = must(PostgresQueues::open(server.address(), now()));
  SourceOptions options;
  options.source = "bench";
  const auto queue = must(queues->declare(options));
  const std::string body(sizes.bytes, 'x');
  std::vector<double> ours_sent, ours_settled, hand_sent, hand_settled;
  for (std::size_t round = 0; round <= sizes.rounds; ++round) {
    const Rates theirs = run_by_hand(hand, sizes, body);
    const Rates ours = run_ours(*queue, sizes, body);
    if (round == 0) continue;  // warms up
    hand_sent.push_back(theirs.sent);
    hand_settled.push_back(theirs.settled);
    ours_sent.push_back(ours.sent);
    ours_settled.push_back(ours.settled);
  }
  const auto say = [](const char* what, std::vector<double> ours, std::vector<double> theirs) {
    const double mine = median(std::move(ours));
    const double other = median(std::move(theirs));
    std::printf("%-24s ours %9.0f/s   by hand %9.0f/s   ratio %.2f\n", what, mine, other,
                mine / other);
  };
  say("send", ours_sent, hand_sent);
  say("take and complete", ours_settled, hand_settled);
  return 0;
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  try {
    return dlo::bench::run(dlo::bench::read_sizes(argc, argv));
  } catch (const dlo::testing::MissingServer& missing) {
    std::fprintf(stderr, "postgres_queue_bench: not measured: %s\n", missing.what());
    return 0;
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "postgres_queue_bench: %s\n", thrown.what());
    return 1;
  }
}
