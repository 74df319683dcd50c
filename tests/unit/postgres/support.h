#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unistd.h>

#include "support/must.h"
#include "support/postgres_server.h"
#include "support/require.h"

#include "dlo/postgres/connection.h"
#include "dlo/store/postgres/postgres_office.h"
#include "dlo/store/postgres/schema.h"

namespace dlo::testing {

[[nodiscard]] inline RecordId id_of(std::uint64_t n) {
  RecordId id;
  id.high = 7;
  id.low = n;
  return id;
}

[[nodiscard]] inline Change a_death(std::uint64_t n, const std::string& source = "orders",
                                    const std::string& text = "connection refused") {
  auto message = std::make_shared<Message>();
  message->source = source;
  message->event_type = "PaymentSucceeded";
  message->payload = R"({"order":)" + std::to_string(n) + "}";
  auto record = std::make_shared<DeadLetter>();
  record->id = id_of(n);
  record->message = std::move(message);
  record->failure.text = text;
  record->counters.failure = 3;
  record->fingerprint.hash = Id128{1, n % 3};
  record->died_at = noon;
  return Append{std::move(record), {}};
}

/// A schema of the shared server that goes away with the test.
class OwnSchema {
 public:
  OwnSchema() : address_(shared_postgres()) {
    static std::atomic<int> schemas{0};
    name_ = "u" + std::to_string(::getpid()) + "_" + std::to_string(++schemas);
  }
  ~OwnSchema() {
    postgres::Connection(address_, "").run("DROP SCHEMA IF EXISTS \"" + name_ + "\" CASCADE");
  }
  OwnSchema(const OwnSchema&) = delete;
  OwnSchema& operator=(const OwnSchema&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] PostgresOptions options() const {
    PostgresOptions options;
    options.schema = name_;
    return options;
  }
  [[nodiscard]] std::unique_ptr<PostgresOffice> open() const {
    return must(PostgresOffice::open(address_, options()));
  }
  /// Somebody with a client of their own.
  [[nodiscard]] postgres::Connection person() const {
    return {address_, "SET search_path = \"" + name_ + "\""};
  }

 private:
  std::string address_;
  std::string name_;
};

/// Makes an office as it was at version `steps`, with the records of another.
inline void make_older(const OwnSchema& old, std::size_t steps, const OwnSchema& like) {
  auto db = postgres::Connection(old.address(), postgres::session_settings(old.name()));
  postgres::migrate(db, old.name(), postgres::office_migrations().first(steps));
  const auto copy = [&](const std::string& table, const std::string& columns) {
    db.run("INSERT INTO " + table + " SELECT " + columns + " FROM \"" + like.name() + "\"." +
           table);
  };
  db.run("DELETE FROM office");
  for (const char* table : {"office", "records", "details", "attempts", "groups", "tallies"}) {
    copy(table, "*");
  }
  if (steps > 2) copy("policies", "*");
  copy("bodies", "*, ARRAY[1]");
}

}  // namespace dlo::testing
