// Claim: an office in PostgreSQL appends full records (attempts, group, counters, error index) at
// half the rate or more at which bare pipelined inserts of the same rows into the same tables go to
// the same server in the same run; the first page of a list of a million records comes in less than
// 20 ms.
//
// What the office wrote is read back and inserted again, table by table, into a schema that is made
// by the same migrations, a transaction and one round trip for each list. Rounds are interleaved,
// medians are compared.
//   postgres_bench [--rounds 5] [--records 4000] [--listed 200000] [--address postgresql://…]
// --address uses the schemas bench and bench_raw there; what they hold is dropped unless --keep is
// given a value, which uses the records that an earlier run left.

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <thread>

#include "support/lists.h"
#include "support/measure.h"
#include "support/postgres_server.h"
#include "support/sample.h"

#include "dlo/postgres/connection.h"
#include "dlo/store/postgres/postgres_office.h"
#include "dlo/store/postgres/schema.h"

namespace dlo::bench {
namespace {

constexpr std::size_t callers = 32;
constexpr std::array tables{"records", "details", "bodies", "attempts"};

struct Clearer {
  void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, Clearer>;

/// libpq and nothing else.
class RawClient {
 public:
  explicit RawClient(const std::string& address) : db_(PQconnectdb(address.c_str())) {
    run("SET search_path = bench_raw");
  }
  ~RawClient() { PQfinish(db_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void run(const std::string& sql) { check(Answer(PQexec(db_, sql.c_str())).get()); }
  [[nodiscard]] Answer ask(const std::string& sql) {
    Answer answer(PQexec(db_, sql.c_str()));
    check(answer.get());
    return answer;
  }
  /// Rows of a table as the server sends them.
  [[nodiscard]] Answer rows(const std::string& table, std::int64_t after, std::int64_t up_to) {
    const std::string sql = "SELECT * FROM bench." + table + " WHERE number > " +
                            std::to_string(after) + " AND number <= " + std::to_string(up_to) +
                            " ORDER BY number";
    Answer answer(PQexecParams(db_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1));
    check(answer.get());
    return answer;
  }
  void begin_list() {
    PQenterPipelineMode(db_);
    send("BEGIN");
  }
  void insert(const std::string& table, const PGresult* rows, int row) {
    const int columns = PQnfields(rows);
    values_.resize(static_cast<std::size_t>(columns));
    lengths_.resize(values_.size());
    formats_.assign(values_.size(), 1);
    for (int i = 0; i < columns; ++i) {
      const auto place = static_cast<std::size_t>(i);
      values_[place] = PQgetisnull(rows, row, i) != 0 ? nullptr : PQgetvalue(rows, row, i);
      lengths_[place] = PQgetlength(rows, row, i);
    }
    PQsendQueryPrepared(db_, table.c_str(), columns, values_.data(), lengths_.data(),
                        formats_.data(), 1);
    ++sent_;
  }
  void end_list() {
    send("COMMIT");
    PQpipelineSync(db_);
    for (; sent_ > 0; --sent_) {
      check(Answer(PQgetResult(db_)).get());
      PQclear(PQgetResult(db_));
    }
    PQclear(PQgetResult(db_));  // PGRES_PIPELINE_SYNC
    PQexitPipelineMode(db_);
  }
  void prepare_inserts() {
    for (const char* each : {"BEGIN", "COMMIT"}) {
      check(Answer(PQprepare(db_, each, each, 0, nullptr)).get());
    }
    for (const char* table : tables) {
      const Answer shape = rows(table, 0, 0);
      std::vector<Oid> types;
      std::string values;
      for (int i = 0; i < PQnfields(shape.get()); ++i) {
        values += (i == 0 ? "$" : ", $") + std::to_string(i + 1);
        types.push_back(PQftype(shape.get(), i));
      }
      const std::string sql = std::string("INSERT INTO ") + table + " VALUES(" + values + ")";
      check(Answer(PQprepare(db_, table, sql.c_str(), static_cast<int>(types.size()), types.data()))
                .get());
    }
  }

 private:
  void send(const char* statement) {
    PQsendQueryPrepared(db_, statement, 0, nullptr, nullptr, nullptr, 1);
    ++sent_;
  }
  void check(const PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return;
    std::fprintf(stderr, "raw: %s\n", PQerrorMessage(db_));
    std::abort();
  }
  PGconn* db_;
  std::size_t sent_ = 0;
  std::vector<const char*> values_;
  std::vector<int> lengths_, formats_;
};

/// What the office wrote in a round, to be written once more.
struct Written {
  std::vector<Answer> tables;
  std::size_t records = 0;
};

void insert_in_lists(RawClient& raw, const Written& written, std::size_t list) {
  for (std::size_t at = 0; at < written.records; at += list) {
    const std::size_t end = std::min(at + list, written.records);
    raw.begin_list();
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const PGresult* rows = written.tables[i].get();
      const std::size_t each = static_cast<std::size_t>(PQntuples(rows)) / written.records;
      for (std::size_t row = at * each; row < end * each; ++row) {
        raw.insert(tables[i], rows, static_cast<int>(row));
      }
    }
    raw.end_list();
  }
}

void apply_in_lists(Office& office, const std::vector<Change>& changes, std::size_t list) {
  for (std::size_t at = 0; at < changes.size(); at += list) {
    must(office.apply(std::span(changes).subspan(at, std::min(list, changes.size() - at))));
  }
}

void apply_singly(Office& office, const std::vector<Change>& changes) {
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < callers; ++i) {
    threads.emplace_back([&] {
      for (std::size_t n = next++; n < changes.size(); n = next++) {
        must(office.apply(std::span(changes).subspan(n, 1)));
      }
    });
  }
}

class Comparison {
 public:
  Comparison(Office& office, const std::string& address) : office_(office), raw_(address) {
    raw_.prepare_inserts();
  }

  void round(std::size_t records) {
    for (const std::size_t list : {std::size_t{100}, std::size_t{1000}}) {
      compare("append, lists of " + std::to_string(list), records, list,
              [&](const auto& changes) { apply_in_lists(office_, changes, list); });
    }
    compare("append, 32 callers : one raw thread, lists of 32", records / 2, callers,
            [&](const auto& changes) { apply_singly(office_, changes); });
  }

  void print() const {
    std::printf("%-52s %10s %10s %7s  goal\n", "", "office/s", "raw/s", "ratio");
    for (const Line& line : lines_) {
      std::printf("%-52s %10.0f %10.0f %7.2f  >= 0.50\n", line.what.c_str(), median(line.ours),
                  median(line.raw), median(line.ratio));
    }
  }

 private:
  struct Line {
    std::string what;
    std::vector<double> ours{}, raw{}, ratio{};
  };
  using Act = std::function<void(const std::vector<Change>&)>;

  [[nodiscard]] std::int64_t last_number() {
    const Answer answer = raw_.ask("SELECT number FROM bench.office");
    return std::stoll(PQgetvalue(answer.get(), 0, 0));
  }

  void compare(const std::string& what, std::size_t records, std::size_t list, const Act& act) {
    const std::vector<Change> changes = samples(next_, records);
    next_ += records;
    const std::int64_t before = last_number();
    const double our_time = seconds([&] { act(changes); });
    // The words of payloads are not among the raw rows; nor do they go on beside them.
    wait_for_index(office_);
    Written written{{}, records};
    const std::int64_t after = last_number();
    for (const char* table : tables) written.tables.push_back(raw_.rows(table, before, after));
    const double raw_time = seconds([&] { insert_in_lists(raw_, written, list); });
    auto line = std::ranges::find(lines_, what, &Line::what);
    if (line == lines_.end()) line = lines_.insert(lines_.end(), Line{what});
    line->ours.push_back(static_cast<double>(records) / our_time);
    line->raw.push_back(static_cast<double>(records) / raw_time);
    line->ratio.push_back(raw_time / our_time);
  }

  Office& office_;
  RawClient raw_;
  std::uint64_t next_ = 1'000'000'000;  // none that is listed
  std::vector<Line> lines_;
};

std::unique_ptr<PostgresOffice> open(const std::string& address, const std::string& schema) {
  PostgresOptions options;
  options.schema = schema;
  return must(PostgresOffice::open(address, options));
}

void drop(const std::string& address, const std::string& schema) {
  postgres::Connection(address, "SET client_min_messages = warning")
      .run("DROP SCHEMA IF EXISTS " + schema + " CASCADE");
}

void make_raw_schema(const std::string& address) {
  drop(address, "bench_raw");
  postgres::Connection db(address, postgres::session_settings("bench_raw"));
  postgres::migrate(db, "bench_raw", postgres::office_migrations());
}

}  // namespace
}  // namespace dlo::bench

int main(int argc, char** argv) {
  using namespace dlo::bench;
  const int rounds = std::stoi(option(argc, argv, "rounds", "5"));
  const auto records = static_cast<std::size_t>(std::stoul(option(argc, argv, "records", "4000")));
  const std::uint64_t listed = std::stoull(option(argc, argv, "listed", "200000"));
  const bool keeps = !option(argc, argv, "keep", "").empty();
  std::string address = option(argc, argv, "address", "");
  std::optional<dlo::testing::PostgresServer> server;
  if (address.empty()) address = server.emplace().address();
  if (!keeps) drop(address, "bench");
  const auto office = open(address, "bench");
  if (listed > 0) {
    if (must(office->list({})).rows.empty()) fill(*office, listed);
    wait_for_index(*office);
    dlo::postgres::Connection(address, "").run("VACUUM ANALYZE");
    print_lists(*office, listed, 20);
  }
  if (rounds > 0) {
    make_raw_schema(address);
    Comparison comparison(*office, address);
    for (int i = 0; i < rounds; ++i) comparison.round(records);
    comparison.print();
  }
}
