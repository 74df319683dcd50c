#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlo/store/sql/books.h"
#include "dlo/store/sql/group_rows.h"
#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {

/// The books of an office in a file, with its error index.
class Books final : public sql::Books {
 public:
  explicit Books(Connection& db);

  /// Forgets what was not written and reads the sequences again.
  void reload();
  /// Writes everything that moved. The error index takes its rows in order of seats: out of order
  /// it would begin a new segment for each.
  void write();

  void add_words(std::int64_t seat, std::string text);
  void remove_words(std::int64_t seat, std::string text);

 private:
  std::optional<GroupSummary> fetch_group(const Id128& fingerprint) override;
  std::optional<Strand> fetch_strand(const Id128& fingerprint) override;
  std::vector<Strand> fetch_strands_of(const Id128& group) override;
  void write_tallies();
  void write_groups();
  void write_strands();
  void write_words();
  void write_counters();

  Pages written_;  // the sequences as they are on disk
  Statement read_counters_, write_counter_, tally_, policy_, read_group_, write_group_,
      delete_group_, read_strand_, read_strands_, write_strand_, delete_strand_, add_words_,
      remove_words_, last_hash_;
};

}  // namespace dlo::sqlite
