#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dlo/store/office.h"
#include "dlo/store/rewriter.h"

namespace dlo {

struct SqliteOptions {
  /// Beside a writer, or where nothing may be changed. Writes are refused.
  bool read_only = false;
  /// Read connections, opened when needed. Each may keep 2 MB of pages.
  std::size_t readers = 4;
  /// Sources whose payloads stay out of the text index: large, secret or not text.
  std::vector<std::string> unsearched_payloads;
  /// False: no payload is in the text index, and what was there is taken out. Whoever asks for
  /// words of payloads has to be refused by the caller.
  bool index_payloads = true;
};

/// An office in one directory: `office.db` (SQLite, WAL, every commit synced), `office.lock` with
/// the pid of its only writer (R19).
/// Concurrent writers share one sync; readers wait for nobody. docs/adr/0001 says why.
class SqliteOffice final : public Office, public Rewriter {
 public:
  /// Creates what is missing. refused: another writer, a newer schema, no write access; corrupt:
  /// not a database; not_found: read_only and there is no office.
  [[nodiscard]] static Result<std::unique_ptr<SqliteOffice>> open(const std::string& directory,
                                                                  SqliteOptions options = {});
  ~SqliteOffice() override;
  SqliteOffice(const SqliteOffice&) = delete;
  SqliteOffice& operator=(const SqliteOffice&) = delete;

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

  Result<Rewritten> rewrite(std::int64_t after, std::size_t limit, const Make& make) override;

  /// Gives back the room of what was removed or written anew, so that nothing of it is left in the
  /// files, and has the payload index made again. Of an office that nobody has opened; takes long
  /// for a large one, and as much room again.
  [[nodiscard]] static Result<void> compact(const std::string& directory);

  /// Transactions so far: what shared a sync counts once.
  [[nodiscard]] std::uint64_t commits() const noexcept;

 private:
  struct State;
  explicit SqliteOffice(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dlo
