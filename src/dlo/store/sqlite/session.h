#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlo/store/change.h"
#include "dlo/store/query.h"
#include "dlo/store/sql/edit.h"
#include "dlo/store/sqlite/books.h"
#include "dlo/store/sqlite/connection.h"
#include "dlo/store/sqlite/damage.h"
#include "dlo/store/sqlite/facets.h"
#include "dlo/store/sqlite/log_folding.h"

namespace dlo::sqlite {

struct PreparedAppend : sql::PreparedAppend {
  Facets facets = 0;
};

/// The writer's connection with its statements: reads and writes single rows, keeps the books.
/// Belongs to one thread. Throws `Failed`.
class Session {
 public:
  using Prepared = PreparedAppend;
  [[nodiscard]] static Prepared prepare(const Append& append);

  /// `searches_payload` says whether a source's payloads go into the text index. Once damage was
  /// found no transaction begins or is committed, and closing leaves the log as it is.
  Session(std::unique_ptr<Connection> db, std::function<bool(const std::string&)> searches_payload,
          Damage& damage);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void begin();
  void commit();
  /// What cannot be rolled back or read again now is so before the next transaction begins.
  void roll_back() noexcept;
  void set_savepoint();
  void drop_savepoint();
  void back_to_savepoint();
  /// Whether a row was written since `begin`, `commit` or the last call of this.
  [[nodiscard]] bool take_wrote() noexcept { return std::exchange(wrote_, false); }
  /// For changes that the books alone remember until the commit.
  void mark_written() noexcept { wrote_ = true; }

  [[nodiscard]] Books& books() noexcept { return books_; }
  [[nodiscard]] Damage& damage() noexcept { return damage_; }
  [[nodiscard]] Connection& connection() noexcept { return *db_; }

  [[nodiscard]] std::optional<Head> find(const RecordId& id);
  [[nodiscard]] std::optional<Head> find(std::int64_t number);
  void load_facts(Head& head);
  void load_message(Head& head);
  [[nodiscard]] std::vector<Version> versions(std::int64_t number);

  /// Nothing if the id is taken; else the number of the new record.
  [[nodiscard]] std::optional<std::int64_t> insert(const PreparedAppend& append);
  void update(const Edit& edit);
  /// Only the lease differs: nothing that anybody counts or lists.
  void update_lease(const Head& head, const std::optional<Lease>& lease);
  /// Takes the mark off, if this occurrence carries it. No index follows: one row is written.
  void settle_source(const RecordId& id, std::uint32_t occurrence);
  void remove(Head& head);

  void add_attempt(std::int64_t number, std::uint32_t place, const std::string& encoded);
  void add_version(std::int64_t number, const Version& version);

  [[nodiscard]] std::optional<std::uint64_t> document_version(const std::string& kind,
                                                              const std::string& key);
  std::uint64_t put_document(const std::string& kind, const std::string& key,
                             const std::optional<std::string>& body);
  std::uint64_t add_audit(const AddAudit& act);

  /// The payload index has followed up to here.
  void forget_leaving(std::int64_t last);

  /// Heads whose lease ended by `now`, at most `limit`.
  [[nodiscard]] std::vector<Head> ended_leases(TimePoint now, std::size_t limit);
  /// Heads due at `now`, longest due first.
  [[nodiscard]] std::vector<Head> due(TimePoint now, const ClaimFrom& from, std::size_t limit);

 private:
  void run(Statement& statement);
  struct DueHead {
    TimePoint turn{};
    Head head;
  };
  /// At most `limit` of each line.
  void due_in(Statement& lines, TimePoint now, std::size_t limit, std::vector<DueHead>& out);
  void write_head(const Edit& edit, std::int64_t seat);
  void write_body(std::int64_t number, const Message& message, const std::string& envelope);
  std::int64_t move_words(const Edit& edit);
  [[nodiscard]] std::uint32_t payload_flag(const Message& message) const;
  void note_leaving(std::int64_t number, std::uint32_t flags, const Message* comes,
                    std::uint32_t new_flags);

  std::unique_ptr<Connection> db_;
  Damage& damage_;
  LogFolding log_;
  std::function<bool(const std::string&)> searches_payload_;
  Books books_;
  Pages saved_;
  bool wrote_ = false;
  bool stale_ = false;  // the books hold what was rolled back
  Statement find_id_, find_number_, read_facts_, read_body_, read_versions_;
  Statement insert_head_, insert_body_, insert_facts_, insert_attempt_, insert_version_;
  Statement touch_, move_status_, move_class_, rewrite_, write_lease_, write_facts_, settle_source_;
  Statement delete_head_, delete_body_, delete_facts_, delete_attempts_, delete_attempt_,
      delete_versions_, add_seat_, delete_seat_;
  Statement note_leaving_, forget_leaving_;
  Statement read_document_, write_document_, delete_document_, insert_audit_;
  Statement ended_, due_, due_source_, next_source_;
};

}  // namespace dlo::sqlite
