#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dlo/store/field_tests.h"
#include "dlo/store/query.h"
#include "dlo/store/sqlite/readers.h"

namespace dlo::sqlite {

/// `Filter` of rules.h on rows of `records`. Rows are judged here and not in SQL, so that a scan
/// that runs out of time knows how far it came.
class RowFilter {
 public:
  explicit RowFilter(const Query& query);

  /// `row` has `head_columns`. The cheap questions first; texts are read only if all else fits.
  [[nodiscard]] bool fits(Readers::Turn& turn, const Statement& row) const;

  [[nodiscard]] bool wants(Status status) const noexcept {
    return ((statuses_ >> static_cast<unsigned>(status)) & 1U) != 0;
  }
  [[nodiscard]] const std::vector<std::string>& error_words() const { return error_words_; }
  [[nodiscard]] const std::vector<std::string>& payload_words() const { return payload_words_; }

  /// Whether judging a row may mean reading a payload of any size.
  [[nodiscard]] bool reads_bodies() const noexcept;

  /// An index has already found these words.
  void trust_error_words() noexcept { ask_error_words_ = false; }

 private:
  [[nodiscard]] bool fits_head(const Statement& row) const;
  [[nodiscard]] bool has_error_words(Readers::Turn& turn, const Statement& row) const;
  [[nodiscard]] bool has_payload_words(Readers::Turn& turn, const Statement& row) const;
  [[nodiscard]] bool tests_fit(Readers::Turn& turn, const Statement& row) const;

  const Query& query_;
  std::uint32_t statuses_ = 0;
  std::vector<std::string> error_words_;
  std::vector<std::string> payload_words_;
  bool ask_error_words_;
  bool ask_payload_words_;
  FieldTests tests_;
};

/// The whole failure of a row, when the head has only its beginning.
[[nodiscard]] Failure read_failure(Readers::Turn& turn, const Statement& row);

}  // namespace dlo::sqlite
