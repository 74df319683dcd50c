#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dlo/postgres/link.h"
#include "dlo/store/change.h"
#include "dlo/store/postgres/arrivals.h"
#include "dlo/store/postgres/books.h"
#include "dlo/store/postgres/desk.h"
#include "dlo/store/query.h"
#include "dlo/store/sql/edit.h"
#include "dlo/store/sql/failed.h"

namespace dlo::postgres {

/// What a failure of the connection means for the transaction it was in.
[[nodiscard]] sql::Failed translated(const Failed& failed);

/// Runs `body`; what the connection throws becomes what the writer understands.
template <typename Body>
auto translating(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Failed& failed) {
    throw translated(failed);
  }
}

/// The writer's transaction. Several programs may write to one office: each transaction takes the
/// office's lock first, so that numbers rise in the order of commits, nobody sees half of what
/// another does and no two can wait for each other. What the tasks of a group look at is read in
/// one or two round trips, changed on the desk and sent as one pipeline. Belongs to one thread.
class Session {
 public:
  using Prepared = PreparedAppend;
  [[nodiscard]] static Prepared prepare(const Append& append);

  /// `searches_payload` says whether a source's payloads go into the text index. `hints_as` not
  /// empty: whoever listens is told under this name of what other nodes may have to act on.
  Session(Link link, const std::string& schema,
          std::function<bool(const std::string&)> searches_payload, std::string hints_as = {});

  /// `tell` is called, in the writer's thread, again and again while the server is not there to say
  /// what became of a commit.
  void while_in_doubt(std::function<void(const Error&)> tell) { tell_of_doubt_ = std::move(tell); }

  void begin();
  /// What is to be read with the next `look_up`.
  void expect(const Change& change);
  void expect_number(std::int64_t number) { expected_numbers_.push_back(number); }
  void look_up();
  void commit();
  void roll_back() noexcept;
  void set_savepoint();
  void drop_savepoint() { desk_.drop_way_back(); }
  void back_to_savepoint();
  [[nodiscard]] bool take_wrote() noexcept { return std::exchange(wrote_, false); }
  void mark_written() noexcept { wrote_ = dirty_ = true; }

  [[nodiscard]] Books& books() noexcept { return books_; }
  [[nodiscard]] Connection& connection() { return link_.use(); }

  [[nodiscard]] std::optional<sql::Head> find(const RecordId& id);
  [[nodiscard]] std::optional<sql::Head> find(std::int64_t number);
  void load_facts(sql::Head& head);
  void load_message(sql::Head& head);
  [[nodiscard]] std::vector<Version> versions(std::int64_t number);

  /// Nothing if the id is taken; else the number of the new record.
  [[nodiscard]] std::optional<std::int64_t> insert(const PreparedAppend& append);
  void update(const sql::Edit& edit);
  void update_lease(const sql::Head& head, const std::optional<Lease>& lease);
  void settle_source(const RecordId& id, std::uint32_t occurrence);
  void remove(sql::Head& head);
  void add_attempt(std::int64_t number, std::uint32_t place, const std::string& encoded);
  void add_version(std::int64_t number, const Version& version);

  [[nodiscard]] std::optional<std::uint64_t> document_version(const std::string& kind,
                                                              const std::string& key);
  std::uint64_t put_document(const std::string& kind, const std::string& key,
                             const std::optional<std::string>& body);
  std::uint64_t add_audit(const AddAudit& act);

  [[nodiscard]] std::vector<sql::Head> ended_leases(TimePoint now, std::size_t limit);
  [[nodiscard]] std::vector<sql::Head> due(TimePoint now, const ClaimFrom& from, std::size_t limit);

  /// Sends what lies on the desk, so that the server's own queries see it.
  void flush();

 private:
  Sheet& sheet_of(const RecordId& id);
  Sheet* sheet_of(std::int64_t number);
  void send_begin();
  void send_questions(const std::vector<Id128>& groups);
  void take_answers(std::span<const Rows> answers, const std::vector<Id128>& groups);
  void lay_rows(const Rows& rows, bool with_facts);
  void look_up_more_groups();
  void send_desk();
  void send_sheets();
  void send_sheet(Sheet& sheet);
  void send_head(const Sheet& sheet);
  void send_facts(const Sheet& sheet);
  void send_body(const Sheet& sheet);
  void send_rest(Sheet& sheet);
  void send_old_attempts_away(Sheet& sheet);
  void finish_writes();
  void settle_doubt();
  [[nodiscard]] std::uint32_t payload_flag(const Message& message) const;

  Link link_;
  std::int64_t lock_;
  std::function<bool(const std::string&)> searches_payload_;
  Books books_;
  sql::Pages saved_;
  Desk desk_;
  Arrivals arrivals_;
  bool wrote_ = false;
  bool dirty_ = false;
  bool began_ = false;
  bool news_ = false;  // others may have to act on it
  std::string hints_as_;
  std::string channel_;
  std::set<RecordId> expected_;
  std::set<RecordId> expected_with_facts_;
  std::set<Id128> expected_groups_;
  std::set<DocumentKey> expected_documents_;
  std::vector<std::int64_t> expected_numbers_;
  std::size_t sent_ = 0;
  std::vector<std::size_t> must_write_;  // places in the pipeline of compare-and-set updates
  Id128 writer_;                         // whose row in `writers` is ours
  std::int64_t mark_ = 0;
  std::function<void(const Error&)> tell_of_doubt_;
};

}  // namespace dlo::postgres
