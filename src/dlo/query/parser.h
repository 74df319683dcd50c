#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/query/qualifiers.h"
#include "dlo/query/ranges.h"
#include "dlo/query/terms.h"

namespace dlo::query {

/// Turns terms into a query, one after the other.
class Parser {
 public:
  Parser(std::string_view text, TimePoint now) : text_(text), now_(now) {}
  [[nodiscard]] Result<Query> parse();

 private:
  using Statuses = std::bitset<status_count>;

  [[nodiscard]] Result<void> take(const Term& term);
  [[nodiscard]] Result<void> take_free_text(const Term& term);
  [[nodiscard]] Result<void> take_status(const Term& term);
  [[nodiscard]] Result<void> take_text(const Term& term, const Qualifier& qualifier);
  [[nodiscard]] Result<void> take_ids(const Term& term, const Qualifier& qualifier);
  [[nodiscard]] Result<void> take_words(const Term& term, Field field);
  [[nodiscard]] Result<void> take_path(const Term& term, const Qualifier& qualifier);
  [[nodiscard]] Result<void> take_resolved(const Term& term);
  [[nodiscard]] Result<void> take_times(const Term& term, const Qualifier& qualifier);
  [[nodiscard]] Result<void> take_numbers(const Term& term, Kind kind);
  [[nodiscard]] Result<void> take_choice(const Term& term, const Qualifier& qualifier);
  [[nodiscard]] Result<void> take_change(const Term& term);
  [[nodiscard]] Result<void> finish_statuses();

  [[nodiscard]] Result<void> add_test(const Term& term, Field field,
                                      std::vector<std::string> values);
  /// The texts of a term's values; refuses comparisons.
  [[nodiscard]] Result<std::vector<std::string>> texts(const Term& term) const;
  /// The only value of a term that cannot be negated.
  [[nodiscard]] Result<const Value*> only_value(const Term& term) const;
  /// Refuses a second term of a kind that is meant to be there once.
  [[nodiscard]] Result<void> only_once(const Term& term);
  [[nodiscard]] Error refuse(std::size_t at, const std::string& what) const {
    return mistake(text_, at, what);
  }

  std::string_view text_;
  TimePoint now_;
  Query query_;
  std::optional<Statuses> wanted_;
  Statuses denied_;
  std::size_t status_at_ = 0;  // the last term about statuses
  std::vector<const Qualifier*> seen_;
};

}  // namespace dlo::query
