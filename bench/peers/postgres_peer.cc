// PostgreSQL as a queue, as its users build one: FOR UPDATE SKIP LOCKED, a time from which a
// message is visible, a table beside it for dead letters. Batches travel as one array; every commit
// syncs.
#include <initializer_list>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "peers/support/callers.h"
#include "peers/support/failure.h"
#include "peers/support/peer.h"

namespace dlo::peers {
namespace {

class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, PQclear) {}
  [[nodiscard]] int count() const { return PQntuples(result_.get()); }
  [[nodiscard]] std::string_view text(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
  }
  [[nodiscard]] long number(int row, int column) const {
    return std::stol(std::string{text(row, column)});
  }
  [[nodiscard]] long affected() const { return std::stol(PQcmdTuples(result_.get())); }

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

const std::string login =
    "host=127.0.0.1 user=bench dbname=postgres options='-c client_min_messages=warning' port=";

class Session {
 public:
  explicit Session(int port)
      : handle_(PQconnectdb((login + std::to_string(port)).c_str()), PQfinish) {
    if (PQstatus(handle_.get()) != CONNECTION_OK) complain("connect");
  }

  Rows run(const std::string& sql) { return checked(sql, PQexec(handle_.get(), sql.c_str())); }
  void prepare(const char* name, const char* sql) {
    checked(sql, PQprepare(handle_.get(), name, sql, 0, nullptr));
  }
  Rows execute(const char* name, std::initializer_list<const char*> values) {
    return checked(name, PQexecPrepared(handle_.get(), name, static_cast<int>(values.size()),
                                        values.begin(), nullptr, nullptr, 0));
  }

 private:
  Rows checked(const std::string& what, PGresult* result) {
    const auto status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) complain(what);
    return Rows{result};
  }
  [[noreturn]] void complain(const std::string& what) const {
    fail("postgres, " + what + ": " + PQerrorMessage(handle_.get()));
  }
  std::unique_ptr<PGconn, decltype(&PQfinish)> handle_;
};

constexpr auto schema = R"(
DROP TABLE IF EXISTS q; DROP TABLE IF EXISTS dead;
CREATE TABLE q(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, attempts int NOT NULL DEFAULT 0,
  enqueued_at timestamptz NOT NULL DEFAULT now(), visible_at timestamptz NOT NULL DEFAULT now(),
  body text, reason text);
CREATE INDEX q_visible ON q(visible_at);
CREATE TABLE dead(LIKE q INCLUDING ALL);
)";

/// The statement that ends the leases of the ids in $1.
const char* settle_sql(Fate fate) {
  switch (fate) {
    case Fate::done:
      return "DELETE FROM q WHERE id = ANY($1::bigint[])";
    case Fate::retry:
      static_assert(retry_delay == std::chrono::seconds{600});
      return "UPDATE q SET visible_at = clock_timestamp() + interval '600 s', reason = 'Timeout' "
             "WHERE id = ANY($1::bigint[])";
    case Fate::dead:
      return "WITH gone AS (DELETE FROM q WHERE id = ANY($1::bigint[]) "
             "RETURNING attempts, enqueued_at, body) "
             "INSERT INTO dead(attempts, enqueued_at, body, reason) "
             "SELECT attempts, enqueued_at, body, 'MaxDeliveryCountExceeded' FROM gone";
  }
  fail("no such fate");
}

class PostgresPeer final : public Peer {
 public:
  PostgresPeer(int port, const Bodies& bodies) : port_(port), bodies_(bodies), control_(port) {
    control_.run(schema);
  }

  Measured enqueue(Callers callers, Budget& budget) override {
    auto sessions = open(callers.count, {{"put", "INSERT INTO q(body) SELECT unnest($1::text[])"}});
    auto latencies = run_callers(callers.count, [&](int index, Latencies& own) {
      std::string body;
      std::string batch;
      while (true) {
        const Numbers next = budget.take(callers.outstanding);
        if (next.count == 0) return;
        batch = "{";
        for (long i = 0; i < next.count; ++i) {
          bodies_.write(next.first + i, body);
          batch.append(i > 0 ? "," : "").append(body);
        }
        batch += "}";
        const Instant before = Clock::now();
        sessions[static_cast<std::size_t>(index)].execute("put", {batch.c_str()});
        own.add(Clock::now() - before);
      }
    });
    return budget.measured(budget.taken(), std::move(latencies));
  }

  Measured settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) override;

  Measured redrive() override {
    constexpr auto move_all =
        "WITH gone AS (DELETE FROM dead RETURNING body) INSERT INTO q(body) SELECT body FROM gone";
    return time_one_request([this] { return control_.run(move_all).affected(); });
  }

  [[nodiscard]] bool can_push() const override { return false; }
  Measured end_to_end(Pace&, Receipts&) override { return {}; }

  Tally tally() override {
    const auto counts = control_.run(
        "SELECT count(*) FILTER (WHERE visible_at <= clock_timestamp()), "
        "count(*) FILTER (WHERE visible_at > clock_timestamp()), (SELECT count(*) FROM dead) FROM "
        "q");
    return {counts.number(0, 0), counts.number(0, 1), counts.number(0, 2)};
  }

 private:
  struct Named {
    const char* name;
    const char* sql;
  };
  [[nodiscard]] std::vector<Session> open(int count,
                                          std::initializer_list<Named> statements) const {
    std::vector<Session> sessions;
    for (int i = 0; i < count; ++i) {
      sessions.emplace_back(port_);
      for (const auto& [name, sql] : statements) sessions.back().prepare(name, sql);
    }
    return sessions;
  }

  int port_;
  const Bodies& bodies_;
  Session control_;
};

Measured PostgresPeer::settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) {
  constexpr auto lease_sql =
      "WITH next AS (SELECT id FROM q WHERE visible_at <= clock_timestamp() ORDER BY id "
      "LIMIT $1::int FOR UPDATE SKIP LOCKED) "
      "UPDATE q SET visible_at = clock_timestamp() + interval '120 s', attempts = attempts + 1 "
      "FROM next WHERE q.id = next.id RETURNING q.id, q.body";
  const bool batched = consumers == Consumers::one_in_batches;
  const int count = batched ? 1 : workers;
  auto sessions = open(count, {{"lease", lease_sql}, {"settle", settle_sql(fate)}});
  auto latencies = run_callers(count, [&](int index, Latencies& own) {
    Session& session = sessions[static_cast<std::size_t>(index)];
    while (true) {
      const Numbers wanted = budget.take(batched ? 100 : 1);
      if (wanted.count == 0) return;
      std::string ids = "{";
      for (long left = wanted.count; left > 0;) {  // a lease may find rows that others hold locked
        const Instant before = Clock::now();
        const Rows rows = session.execute("lease", {std::to_string(left).c_str()});
        own.add(Clock::now() - before);
        for (int row = 0; row < rows.count(); ++row) {
          ids.append(ids.size() > 1 ? "," : "").append(rows.text(row, 0));
          receipts.take(rows.text(row, 1));
        }
        left -= rows.count();
      }
      ids += "}";
      const Instant before = Clock::now();
      session.execute("settle", {ids.c_str()});
      own.add(Clock::now() - before);
    }
  });
  return budget.measured(receipts.count(), std::move(latencies));
}

}  // namespace
}  // namespace dlo::peers

int main(int argc, char** argv) {
  using namespace dlo::peers;
  return run_peer(argc, argv, [](const std::string& where, const Bodies& bodies) {
    return std::make_unique<PostgresPeer>(port_of(where), bodies);
  });
}
