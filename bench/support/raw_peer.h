#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dlo/store/change.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dlo::bench {

/// A record as bytes: what the raw peer binds. Made ready outside its measured time.
struct RawRow {
  const DeadLetter* record = nullptr;
  std::string id, group, envelope, facts, words;
  std::int64_t facets = 0;
  std::vector<std::string> attempts;
};
[[nodiscard]] std::vector<RawRow> raw_rows(const std::vector<Change>& appends);

/// SQLite's C API and nothing else, carrying out the statements SqliteOffice needs, in one thread,
/// on the same schema and settings: no queue, no rules, no answers, no encoding but
/// that of a trend, which depends on what is stored.
class RawPeer {
 public:
  explicit RawPeer(const std::string& directory);
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  void append(std::span<const RawRow> rows);
  /// pending or exhausted to resolved, with who, when and how: head and facts.
  void resolve(std::span<const RawRow> rows);

 private:
  sqlite3_stmt* prepare(const std::string& sql);
  void insert(const RawRow& row);
  struct GroupMoves {
    const RawRow* newest = nullptr;
    std::int64_t open = 0;
    std::vector<TimePoint> deaths;
  };
  void write_group(const std::string& fingerprint, const GroupMoves& moves);
  void write_books();
  void run(const char* sql);

  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
  sqlite3_stmt *head_, *body_, *facts_, *attempt_, *words_, *tally_, *read_group_, *read_strand_,
      *group_, *counter_, *find_, *read_facts_, *resolve_, *write_facts_;
  std::int64_t number_ = 0;
  std::map<std::pair<std::string, std::pair<int, std::string>>, int> tallies_;
  std::map<std::string, GroupMoves> groups_;
  std::vector<std::pair<std::int64_t, const RawRow*>> indexed_;
};

}  // namespace dlo::bench
