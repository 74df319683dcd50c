// Messages whose executions end in different ways: limits of calls, lost leases, an office that is
// full, and the error that is shown at last.
#include <algorithm>

#include "unit/core/always_failing.h"
#include "unit/engine/pull_room.h"

#include "dlo/engine/office_source.h"

namespace dlo::testing {
namespace {

struct Lost {};  // its worker is never heard of again
using End = std::variant<Lost, PullEnding>;

class PullMixed : public PullDeskTest {
 protected:
  static PullEnding counted(std::string error = "", std::optional<std::uint32_t> limit = {}) {
    AbandonOptions options;
    options.increment_count = true;
    if (!error.empty()) options.error_message = std::move(error);
    options.max_abandon_count = limit;
    return options;
  }
  static PullEnding uncounted(std::string error) {
    AbandonOptions options;
    options.error_message = std::move(error);
    return options;
  }

  struct Life {
    std::uint32_t executions = 0;
    bool unrun = false;  // released, and then dead before it could run again
    RecordDetail record{};
  };
  /// Sends one and ends its executions as `end_of(number)` says until it is dead.
  template <typename EndOf>
  Life live(const std::string& id, EndOf end_of) {
    send(id);
    Life life;
    while (life.executions < 100) {
      const auto handed = receive();
      if (handed.empty()) break;
      ++life.executions;
      const End end = end_of(life.executions);
      life.unrun = false;
      if (const auto* ending = std::get_if<PullEnding>(&end)) {
        life.unrun = settle(handed[0].lease, *ending).fate == Fate::released;
      }
      clock_.advance(1h);
    }
    life.record = record_of(id);
    return life;
  }
  RecordDetail record_of(const std::string& id) {
    Query query;
    query.message_id = id;
    return must(kept_.get(must(kept_.list(query)).rows.at(0).id));
  }
  static std::vector<std::uint32_t> numbers(const RecordDetail& record) {
    std::vector<std::uint32_t> numbers;
    for (const Attempt& attempt : record.attempts) numbers.push_back(attempt.number);
    std::ranges::sort(numbers);
    return numbers;
  }
  static std::vector<std::uint32_t> up_to(std::uint32_t last) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t n = 1; n <= last; ++n) numbers.push_back(n);
    return numbers;
  }
  void count_claims() {
    SourceOptions options;
    options.source = "orders";
    options.claims_count = true;
    desk_.reset();
    broker_ = std::make_unique<MemoryBroker>(options);
  }
};

TEST_F(PullMixed, AForcedPoisonSaysNothingOfAbandonsThatWereNone) {
  AbandonOptions forced;
  forced.force_poison = true;
  AbandonOptions none;
  none.max_abandon_count = 0;
  for (const Profile& profile : builtin_profiles()) {
    SCOPED_TRACE(profile.name);
    use(profile.name);
    send(profile.name + " forced");
    settle(receive().at(0).lease, forced);
    const std::string limit = std::to_string(profile.limit);
    EXPECT_EQ(record_of(profile.name + " forced").record.description,
              "poison: message was poisoned on request after 0 abandons (max " + limit + ")");
    send(profile.name + " none");
    EXPECT_EQ(settle(receive().at(0).lease, none).abandon_count, 0U);
    EXPECT_EQ(record_of(profile.name + " none").record.description,
              "poison: message was poisoned on request after 0 abandons (max 0)");
  }
}

}  // namespace
}  // namespace dlo::testing
