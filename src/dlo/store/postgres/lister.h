#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dlo/postgres/connection.h"
#include "dlo/store/field_tests.h"
#include "dlo/store/query.h"

namespace dlo::postgres {

/// Answers one list query. Rows always come in page order (died_at, number).
///
/// Most of a query becomes SQL, and the planner chooses the index; what SQL cannot say (words,
/// headers, paths into the payload) is judged here, row by row. What would take longer than the
/// time box is cancelled by the server, and the rest of the page is walked: so many records in page
/// order at a time, each step a place to go on from.
class Lister {
 public:
  Lister(Connection& db, const Query& query);
  [[nodiscard]] Page list();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Step : std::uint8_t { full, more, end };
  enum class Among : std::uint8_t {
    all,
    led
  };  // records; those with the fields that lead an index

  /// A statement and its values, as they come.
  struct Statement {
    std::string where;
    Params params;
    template <typename Value>
    std::string add(const Value& value) {
      params.add(value);
      return "$" + std::to_string(params.count());
    }
  };

  void add_text(Statement& s, const char* column, const std::optional<std::string>& value) const;
  void add_leads(Statement& s) const;
  void add_heads(Statement& s) const;
  void add_words(Statement& s) const;
  void add_words_of_each(Statement& s) const;
  void add_numbers(Statement& s) const;
  void add_place(Statement& s) const;
  [[nodiscard]] std::vector<std::string> parts(bool has_lead) const;
  [[nodiscard]] std::string merged(const std::vector<std::string>& parts, const std::string& where,
                                   const std::string& limit) const;
  [[nodiscard]] std::string order(const char* table) const;
  [[nodiscard]] std::string reverse_order() const;
  [[nodiscard]] std::string columns() const;
  [[nodiscard]] std::string joins() const;
  [[nodiscard]] std::size_t chunk() const;   // rows of one seek
  [[nodiscard]] std::size_t stride() const;  // records of one step of a walk

  /// The next rows that fit, wherever they are. Nothing: it took too long.
  [[nodiscard]] std::optional<Step> seek(Page& page, Clock::duration time);
  /// Looks at the next so many records.
  [[nodiscard]] Step walk(Page& page, std::size_t records, Among among);
  [[nodiscard]] std::size_t more_tries(const Page& page, std::size_t found,
                                       std::size_t walked) const;
  [[nodiscard]] bool has_lead() const;
  [[nodiscard]] bool by_words() const noexcept {
    return !error_words_.empty() || !payload_words_.empty();
  }
  Step take(Page& page, const Rows& rows, bool all);
  [[nodiscard]] bool fits(const Row& row) const;
  void add_row(Page& page, const Row& row) const;
  [[nodiscard]] Clock::duration time_left() const;

  Connection& db_;
  const Query& query_;
  FieldTests tests_;
  std::vector<std::string> error_words_;
  std::vector<std::string> payload_words_;
  std::vector<Status> statuses_;
  bool reads_facts_ = false;
  bool reads_envelope_ = false;
  bool reads_payload_ = false;
  bool newest_first_ = true;
  std::optional<Cursor> place_;
  Clock::time_point deadline_;
};

}  // namespace dlo::postgres
