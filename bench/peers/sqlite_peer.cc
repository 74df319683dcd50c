// SQLite as a queue in the program itself: WAL, one connection behind a lock. synchronous=FULL:
// SQLite has no group commit, so each caller's transaction syncs by itself. `FOLDER?NORMAL`:
// synchronous=NORMAL, which syncs at checkpoints only.
#include <memory>
#include <mutex>
#include <sqlite3.h>
#include <string>
#include <utility>
#include <vector>

#include "peers/support/callers.h"
#include "peers/support/failure.h"
#include "peers/support/peer.h"

namespace dlo::peers {
namespace {

class Database {
 public:
  explicit Database(const std::string& file) {
    if (sqlite3_open(file.c_str(), &handle_) != SQLITE_OK) fail("cannot open " + file);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* sql) {
    if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) complain(sql);
  }
  [[noreturn]] void complain(const std::string& what) const {
    fail(what + ": " + sqlite3_errmsg(handle_));
  }
  [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }

 private:
  sqlite3* handle_ = nullptr;
};

class Statement {
 public:
  Statement(Database& database, const char* sql) : database_(database) {
    if (sqlite3_prepare_v2(database.handle(), sql, -1, &handle_, nullptr) != SQLITE_OK) {
      database.complain(sql);
    }
  }
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int at, sqlite3_int64 value) {
    sqlite3_bind_int64(handle_, at, value);
    return *this;
  }
  Statement& bind(int at, const std::string& text) {
    sqlite3_bind_text(handle_, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    return *this;
  }
  /// True for a row, false at the end; ready for the next use then.
  bool step() {
    const int result = sqlite3_step(handle_);
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) database_.complain("step");
    sqlite3_reset(handle_);
    return false;
  }
  [[nodiscard]] sqlite3_int64 number(int column) { return sqlite3_column_int64(handle_, column); }
  [[nodiscard]] std::string_view text(int column) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_, column));
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
  }

 private:
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

std::int64_t wall_millis(std::chrono::seconds from_now = {}) {
  const auto then = std::chrono::system_clock::now() + from_now;
  return std::chrono::duration_cast<std::chrono::milliseconds>(then.time_since_epoch()).count();
}

// state: 0 waits (ready once `due`), 1 leased until `due`, 2 dead
constexpr auto schema = R"(
PRAGMA journal_mode = WAL;
PRAGMA cache_size = -65536;
CREATE TABLE q(id INTEGER PRIMARY KEY, state INT NOT NULL DEFAULT 0, attempts INT NOT NULL DEFAULT 0,
               due INT NOT NULL DEFAULT 0, body TEXT, reason TEXT);
CREATE INDEX waiting ON q(due, id) WHERE state = 0;
CREATE INDEX leased ON q(due) WHERE state = 1;
)";
constexpr auto lease_sql =
    "UPDATE q SET state = 1, due = ?1, attempts = attempts + 1 WHERE id IN (SELECT id FROM q "
    "WHERE state = 0 AND due <= ?2 ORDER BY due, id LIMIT ?3) RETURNING id, body";

const char* settle_sql(Fate fate) {
  switch (fate) {
    case Fate::done:
      return "DELETE FROM q WHERE id = ?1";
    case Fate::retry:
      return "UPDATE q SET state = 0, due = ?2, reason = 'Timeout' WHERE id = ?1";
    case Fate::dead:
      return "UPDATE q SET state = 2, reason = 'MaxDeliveryCountExceeded' WHERE id = ?1";
  }
  fail("no such fate");
}

class SqlitePeer final : public Peer {
 public:
  SqlitePeer(const std::string& where, const Bodies& bodies)
      : database_(where.substr(0, where.find('?')) + "/queue.db"), bodies_(bodies) {
    database_.run(where.ends_with("?NORMAL") ? "PRAGMA synchronous = NORMAL"
                                             : "PRAGMA synchronous = FULL");
    database_.run(schema);
  }

  Measured enqueue(Callers callers, Budget& budget) override {
    Statement insert{database_, "INSERT INTO q(body) VALUES(?)"};
    auto latencies = run_callers(callers.count, [&](int, Latencies& own) {
      std::string body;
      while (true) {
        const Numbers next = budget.take(callers.outstanding);
        if (next.count == 0) return;
        const Instant before = Clock::now();
        transact([&] {
          for (long i = 0; i < next.count; ++i) {
            bodies_.write(next.first + i, body);
            insert.bind(1, body).step();
          }
        });
        own.add(Clock::now() - before);
      }
    });
    return budget.measured(budget.taken(), std::move(latencies));
  }

  Measured settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) override {
    const bool batched = consumers == Consumers::one_in_batches;
    Statement lease{database_, lease_sql};
    Statement finish{database_, settle_sql(fate)};
    auto latencies = run_callers(batched ? 1 : workers, [&](int, Latencies& own) {
      std::vector<sqlite3_int64> ids;
      while (true) {
        const Numbers wanted = budget.take(batched ? 1000 : 1);
        if (wanted.count == 0) return;
        ids.clear();
        const Instant before = Clock::now();
        transact([&] {
          lease.bind(1, wall_millis(std::chrono::seconds{120})).bind(2, wall_millis());
          lease.bind(3, wanted.count);
          while (lease.step()) {
            ids.push_back(lease.number(0));
            receipts.take(lease.text(1));
          }
        });
        const Instant leased = Clock::now();
        transact([&] {
          for (const auto id : ids) {
            finish.bind(1, id);
            if (fate == Fate::retry) finish.bind(2, wall_millis(retry_delay));
            finish.step();
          }
        });
        own.add(leased - before);
        own.add(Clock::now() - leased);
      }
    });
    return budget.measured(receipts.count(), std::move(latencies));
  }

  Measured redrive() override {
    return time_one_request([this] {
      database_.run("UPDATE q SET state = 0, due = 0, attempts = 0 WHERE state = 2");
      return sqlite3_changes(database_.handle());
    });
  }

  [[nodiscard]] bool can_push() const override { return false; }
  Measured end_to_end(Pace&, Receipts&) override { return {}; }

  Tally tally() override {
    Statement count{database_,
                    "SELECT count(*) FILTER (WHERE state = 0 AND due <= ?1), "
                    "count(*) FILTER (WHERE state = 0 AND due > ?1), "
                    "count(*) FILTER (WHERE state = 2) FROM q"};
    count.bind(1, wall_millis()).step();
    return {count.number(0), count.number(1), count.number(2)};
  }

 private:
  template <typename Work>
  void transact(Work work) {
    const std::lock_guard lock{guard_};
    database_.run("BEGIN IMMEDIATE");
    work();
    database_.run("COMMIT");
  }

  Database database_;
  const Bodies& bodies_;
  std::mutex guard_;
};

}  // namespace
}  // namespace dlo::peers

int main(int argc, char** argv) {
  using namespace dlo::peers;
  return run_peer(argc, argv, [](const std::string& where, const Bodies& bodies) {
    return std::make_unique<SqlitePeer>(where, bodies);
  });
}
