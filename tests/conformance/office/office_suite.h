#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/must.h"
#include "support/require.h"

#include "dlo/store/office.h"
#include "dlo/store/poison_book.h"

namespace dlo::testing {

/// One office that nobody else uses.
class OfficeUnderTest {
 public:
  virtual ~OfficeUnderTest() = default;
  [[nodiscard]] virtual Office& office() = 0;
  /// Closes the office and opens it again, as a restart does. Called only if `durable`.
  virtual void reopen() {}
  /// Returns once background indexes hold everything that was appended.
  virtual void settle_indexes() {}
};

/// A backend joins the suite with one line in a file of its own and never lists tests:
/// INSTANTIATE_TEST_SUITE_P(Memory, OfficeSuite, ::testing::Values(memory_backend()),
/// backend_name);
struct OfficeBackend {
  std::string name;
  std::function<std::unique_ptr<OfficeUnderTest>()> make_empty;
  bool durable = false;  // what it answered survives `reopen`
  /// Words of payloads are searched; false: refused, because they are encrypted.
  bool searches_payloads = true;
};
void PrintTo(const OfficeBackend& backend, std::ostream* out);
std::string backend_name(const ::testing::TestParamInfo<OfficeBackend>& info);

/// The contract of dlo/store/office.h, executable.
class OfficeSuite : public ::testing::TestWithParam<OfficeBackend> {
 protected:
  void SetUp() override { SKIP_WITHOUT_SERVER(kept_ = GetParam().make_empty()); }

  [[nodiscard]] Office& office() { return kept_->office(); }
  [[nodiscard]] Ledger& ledger();
  [[nodiscard]] PoisonBook& poison();
  void reopen() { kept_->reopen(); }
  void settle_indexes() { kept_->settle_indexes(); }

  Result<std::vector<Applied>> try_apply(const std::vector<Change>& changes);
  std::vector<Applied> apply(const std::vector<Change>& changes);
  Applied apply_one(Change change);
  /// The code with which the list is refused; fails the test if it is not.
  Code refusal_of(const std::vector<Change>& changes);

  Applied append(const DeadLetter& record, std::vector<Attempt> attempts = {});
  /// Appends `record` and brings it to `status`, taking a lease where one is needed.
  std::optional<LeaseToken> bring_to(const DeadLetter& record, Status status);
  RecordDetail detail(const RecordId& id);
  DeadLetter record(const RecordId& id) { return detail(id).record; }
  bool is_there(const RecordId& id);
  std::vector<Claim> claim(std::size_t limit, TimePoint now, Millis lease_for = Millis{30'000},
                           const ClaimFrom& from = {});
  std::optional<TimePoint> next_due(const ClaimFrom& from = {});

  /// Every match, page after page. Fails the test if the pages do not come to an end.
  std::vector<RecordHead> walk(Query query);
  std::vector<RecordId> ids(const Query& query);
  /// Asks for words of payloads, and the backend keeps them encrypted: then it must refuse.
  bool is_refused_here(const Query& query);
  std::uint64_t tally(const std::string& source, Status status, const std::string& category);
  std::optional<GroupSummary> group(const Id128& fingerprint);
  std::uint64_t last_change();

 private:
  std::unique_ptr<OfficeUnderTest> kept_;
};

// What the tests write. `n` makes it different from any other.
[[nodiscard]] RecordId id_of(std::uint64_t n);
[[nodiscard]] Id128 group_of(std::uint64_t n);
/// A pending record that died at noon, from source "orders", category "network", group 1.
[[nodiscard]] DeadLetter a_letter(std::uint64_t n);
/// The same, waiting in the office and due at `due`.
[[nodiscard]] DeadLetter a_waiting(std::uint64_t n, TimePoint due);
/// A letter whose every field is filled, with awkward bytes where bytes are allowed.
[[nodiscard]] DeadLetter a_full_letter(std::uint64_t n);
[[nodiscard]] Attempt an_attempt(std::uint32_t number);
[[nodiscard]] Message message_of(const DeadLetter& letter);
[[nodiscard]] MessagePtr share(Message message);

[[nodiscard]] Change append_of(const DeadLetter& record, std::vector<Attempt> attempts = {});
[[nodiscard]] Transition to(Status status, std::uint64_t n, TimePoint now = noon);

// Everything in writing, so that two values are the same if and only if they print alike.
[[nodiscard]] std::string print(const Message& message);
/// `assigned`: with what the store assigned, too.
[[nodiscard]] std::string print(const DeadLetter& record, bool assigned = true);
[[nodiscard]] std::string print(const Attempt& attempt);
[[nodiscard]] std::string print(const RecordDetail& detail);
[[nodiscard]] std::string print(const GroupSummary& group);
/// All that can be read of an office.
[[nodiscard]] std::string print(Office& office, const std::vector<std::string>& document_kinds);

}  // namespace dlo::testing
