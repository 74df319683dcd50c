#include "dlo/engine/report_desk.h"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "support/must.h"

#include "dlo/store/memory/memory_office.h"

namespace dlo {
namespace {

using testing::must;
using testing::noon;

class ReportDeskTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const RuleBook> rules() {
    return std::make_shared<const RuleBook>(
        must(RuleBook::build(must(find_profile("service-bus")))));
  }
  static Report report(const std::string& id, const std::string& error, std::uint32_t attempts) {
    Message message;
    message.id = id;
    message.source = "orders";
    message.payload = "x";
    Report report;
    report.message = std::make_shared<const Message>(message);
    report.failure.text = error;
    report.counters.fetch = report.counters.attempt = report.counters.total = attempts;
    return report;
  }
  MemoryOffice office_;
  ManualClock clock_{noon};
  ReportDesk desk_{office_, rules(), {"node", "build"}, clock_};
};

TEST_F(ReportDeskTest, TheCoreDecidesAndDeathsAreKept) {
  const auto answers = must(desk_.report(
      {report("1", "bad request", 1), report("2", "network down", 1), report("3", "network", 3)}));
  EXPECT_EQ(std::get<DeadLetterAs>(answers[0].decision.verdict).reason, "NonRetryableError");
  EXPECT_TRUE(std::holds_alternative<RetryAt>(answers[1].decision.verdict));
  EXPECT_FALSE(answers[1].record);
  EXPECT_EQ(std::get<DeadLetterAs>(answers[2].decision.verdict).reason, "MaxDeliveryCountExceeded");
  const auto kept = must(office_.get(*answers[2].record));
  EXPECT_EQ(kept.record.counters.attempt, 3U);
  EXPECT_EQ(kept.record.node, "node");
  EXPECT_FALSE(kept.record.source_unsettled);
  ASSERT_EQ(kept.attempts.size(), 1U);
  EXPECT_EQ(kept.attempts[0].error_text, "network");
}

TEST_F(ReportDeskTest, SecretsInWhatIsReportedAreNotKept) {
  const auto answers = must(desk_.report({report("1", "bad request password=hunter2", 1)}));
  EXPECT_EQ(must(office_.get(*answers[0].record)).record.failure.text.find("hunter2"),
            std::string::npos);
}

TEST_F(ReportDeskTest, WhatIsWrittenAlongIsWrittenWithItOrNotAtAll) {
  const auto also = [](const std::vector<Reported>& decided, std::vector<Change>& changes) {
    changes.emplace_back(PutDocument{"k", "1", to_string(*decided[0].record), 0});
  };
  const auto first = must(desk_.report({report("1", "bad request", 1)}, also));
  EXPECT_TRUE(must(office_.extras().ledger->document("k", "1")));
  EXPECT_FALSE(desk_.report({report("2", "bad request", 1)}, also)) << "the document is there";
  EXPECT_EQ(must(office_.list({})).rows.size(), 1U);
}

TEST_F(ReportDeskTest, ARepeatSaysThatItMerged) {
  EXPECT_EQ(must(desk_.report({report("1", "bad request", 1)}))[0].effect, Effect::applied);
  EXPECT_EQ(must(desk_.report({report("1", "bad request", 1)}))[0].effect, Effect::merged);
}

}  // namespace
}  // namespace dlo
