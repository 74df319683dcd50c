#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/dead_letter.h"
#include "dlo/core/result.h"
#include "dlo/json/text/value.h"
#include "dlo/store/query.h"

namespace dlo {

/// Where an office keeps what a test looks at: heads are at hand, all else is read when asked for.
enum class Part : std::uint8_t { head, facts, envelope, payload };
[[nodiscard]] Part part_of(Field field) noexcept;

/// What a body test compares: what a string says, any other scalar as it is written; nothing where
/// there is no scalar.
[[nodiscard]] std::optional<std::string> scalar_text(const JsonFound& found);

/// What can be refused without looking at a record.
[[nodiscard]] Result<void> check(const std::vector<FieldTest>& tests);

/// `Query::tests` and the resolution's time, made ready. Asked part by part, so that an office
/// reads no more of a record than it must.
class FieldTests {
 public:
  explicit FieldTests(const Query& query);

  [[nodiscard]] bool look_at(Part part) const noexcept;
  /// Whether what is kept in `part` fits. Of `record` only that part (and its head) must be there.
  [[nodiscard]] bool fit(const DeadLetter& record, Part part) const;
  [[nodiscard]] bool fit(const DeadLetter& record) const;

 private:
  [[nodiscard]] bool resolution_fits(const DeadLetter& record) const noexcept;
  [[nodiscard]] bool paths_fit(const Message& message) const;

  std::vector<FieldTest> tests_;
  std::vector<JsonPath> paths_;    // of the body tests, in their order
  std::vector<std::size_t> body_;  // where these are in tests_
  std::optional<TimePoint> resolved_from_;
  std::optional<TimePoint> resolved_until_;
  std::uint8_t parts_ = 0;
};

}  // namespace dlo
