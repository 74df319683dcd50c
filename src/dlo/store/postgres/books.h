#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/postgres/link.h"
#include "dlo/store/sql/books.h"
#include "dlo/store/sql/group_rows.h"

namespace dlo::postgres {

/// The books of an office in PostgreSQL. What several programs share is locked for them while a
/// transaction is under way: see Session.
class Books final : public sql::Books {
 public:
  explicit Books(Link& link) : link_(link) {}

  inline static const std::string read_office =
      "SELECT change, number, audit, audit_hash, poison_orchestrations, poison_activities, "
      "lifetime_enqueued, lifetime_retry_success, lifetime_retry_failed, lifetime_exhausted, "
      "lifetime_manually_retried, lifetime_archived FROM office";
  /// Begins with a row of `read_office`; forgets everything else.
  void open(const Row& row);
  /// Puts the question for groups and strands of all of these into the pipeline: two answers.
  void ask_for(const std::vector<Id128>& fingerprints);
  void take(const std::vector<Id128>& fingerprints, const Rows& groups, const Rows& strands);
  /// Puts everything that moved into the pipeline.
  void send();

 private:
  std::optional<GroupSummary> fetch_group(const Id128& fingerprint) override;
  std::optional<Strand> fetch_strand(const Id128& fingerprint) override;
  std::vector<Strand> fetch_strands_of(const Id128& group) override;
  void send_tallies();
  void send_groups();
  void send_strands();
  void send_office();

  Link& link_;
  sql::Pages written_;  // the numbers of `office` as they are there
  // What was looked up: only what is asked for moves to the pages, and only that is written.
  std::unordered_map<Id128, std::optional<GroupSummary>> known_groups_;
  std::unordered_map<Id128, std::optional<Strand>> known_strands_;
};

/// As a row of `read_office` has it.
[[nodiscard]] Lifetime read_lifetime(const Row& row);

}  // namespace dlo::postgres
