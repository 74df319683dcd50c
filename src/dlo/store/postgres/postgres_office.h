#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dlo/store/office.h"

namespace dlo {

namespace postgres {
class Escorts;
}

struct PostgresOptions {
  /// Where the tables are. Several offices may live in one database, each in its schema.
  std::string schema = "dlo";
  /// Nothing is created or changed; writes are refused.
  bool read_only = false;
  /// Connections for readers, made when needed. Writing takes one more, and so does the upkeep.
  std::size_t readers = 4;
  /// Not empty: alone with the office, under this name: refused while another program is, or while
  /// a server leads on it. What was opened without a name is not held up by it.
  std::string serves_as;
  /// Not empty: others who listen are told, under this name, that there is something new.
  std::string hints_as;
  /// Sources whose payloads stay out of the text index: large, secret or not text.
  std::vector<std::string> unsearched_payloads;
  /// False: no payload that comes from now on is in the text index. Whoever asks for words of
  /// payloads has to be refused by the caller.
  bool index_payloads = true;
  /// Statements of others that are committed with a record; null: there are none.
  std::shared_ptr<const postgres::Escorts> escorts;
};

/// An office in a PostgreSQL database (15 or newer). Several programs may open it at once and all
/// of them may write: each transaction takes the office's lock. A server that goes away is met with
/// `unavailable` at once and found again when it is back. docs/adr/0010 says why it is built so.
class PostgresOffice final : public Office {
 public:
  /// Creates what is missing. `address` as libpq takes it (postgresql://…, or key=value).
  /// invalid_argument: an address or schema that cannot be one; unavailable: no server; refused: a
  /// newer schema, or one that is not ours; not_found: read_only and there is no office.
  [[nodiscard]] static Result<std::unique_ptr<PostgresOffice>> open(const std::string& address,
                                                                    PostgresOptions options = {});
  ~PostgresOffice() override;
  PostgresOffice(const PostgresOffice&) = delete;
  PostgresOffice& operator=(const PostgresOffice&) = delete;

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override;
  Result<RecordDetail> get(const RecordId& id) override;
  Result<Page> list(const Query& query) override;
  Result<Aggregate> aggregate(const AggregateRequest& request) override;
  Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                   const ClaimFrom& from) override;
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                  Millis lease_for) override;
  Result<std::vector<ChangeNote>> changes_since(std::uint64_t after, std::size_t limit) override;
  OfficeExtras extras() noexcept override;

  /// Host, port, database and schema, for people.
  [[nodiscard]] const std::string& place() const noexcept;
  /// Transactions so far: what shared a commit counts once.
  [[nodiscard]] std::uint64_t commits() const noexcept;

 private:
  struct State;
  explicit PostgresOffice(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dlo
