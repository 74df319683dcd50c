#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "conformance/office/office_suite.h"

namespace dlo::testing {

/// Where a saboteur can reach into an office. Empty hooks leave everything as it is.
struct Hooks {
  using Answers = Result<std::vector<Applied>>;
  std::function<void(std::vector<Change>&)> changes;  // what goes in
  std::function<void(std::vector<Applied>&)> applied;
  std::function<Answers(Office&, const std::vector<Change>&)> apply;
  std::function<void(RecordDetail&)> detail;
  std::function<void(Query&)> query;
  std::function<void(const Query&, Page&)> page;
  std::function<void(AggregateRequest&)> request;
  std::function<void(Aggregate&)> numbers;
  struct ClaimRequest {
    std::size_t limit;
    TimePoint now;
    Millis lease_for;
    ClaimFrom from;
  };
  std::function<void(ClaimRequest&)> claim;
  std::function<void(std::vector<Claim>&)> claims;
  std::function<Result<std::vector<bool>>(Office&, std::span<const LeaseToken>)> renew;
  std::function<void(std::vector<ChangeNote>&)> notes;
  std::function<void(std::vector<Document>&)> documents;
  std::function<void(std::vector<AuditEntry>&)> audit;
  std::function<void(PoisonQuery&)> poison;
  std::function<void(std::vector<PoisonItem>&)> poisoned;
  bool forgets_on_restart = false;
};

/// One broken rule, and the tests of the suite that must notice.
struct Sabotage {
  std::string rule;                     // what is broken, as a sentence
  std::vector<std::string> noticed_by;  // tests of OfficeSuite
  Hooks hooks;
};

inline void PrintTo(const Sabotage& sabotage, std::ostream* out) {
  *out << sabotage.rule;
}

/// Every sabotage there is. Hooks may remember things: take a fresh table for each office.
[[nodiscard]] std::vector<Sabotage> sabotages();
[[nodiscard]] std::vector<Sabotage> sabotages_of_writing();
[[nodiscard]] std::vector<Sabotage> sabotages_of_leases();
[[nodiscard]] std::vector<Sabotage> sabotages_of_reading();
[[nodiscard]] std::vector<Sabotage> sabotages_of_groups();
[[nodiscard]] std::vector<Sabotage> sabotages_of_odd_cases();

/// A good office behind hooks.
[[nodiscard]] std::unique_ptr<OfficeUnderTest> sabotaged(Hooks hooks);

}  // namespace dlo::testing
