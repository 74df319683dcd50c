#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/outbox/row.h"
#include "dlo/outbox/table.h"
#include "dlo/store/office.h"

namespace dlo::outbox {

/// What is known of rows that failed, kept in the office as documents: for tables that have no
/// column for it.
class Notes {
 public:
  Notes(Office& office, const std::string& outbox) : office_(office), kind_("outbox." + outbox) {}

  [[nodiscard]] Change written(const std::string& id, const std::string& key,
                               const Failures& failures) const;
  [[nodiscard]] Change removed(const std::string& id) const;

  struct Note {
    std::string id;
    std::string key;
    Failures failures;
  };
  /// All there are.
  [[nodiscard]] Result<std::vector<Note>> all() const;

 private:
  Office& office_;
  std::string kind_;
};

}  // namespace dlo::outbox
