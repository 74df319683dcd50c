// The queries of document 001, word for word, through psql (S1-33 … S1-40, S1-47).
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>

#include "unit/postgres/support.h"

namespace dlo::testing {
namespace {

constexpr const char* all_unresolved = R"(SELECT *
FROM "DeadLetterMessages"
WHERE "Resolved" = false
ORDER BY "FailedAt" DESC;)";

constexpr const char* by_source_queue = R"(SELECT "SourceQueue", COUNT(*) AS "Count"
FROM "DeadLetterMessages"
WHERE "Resolved" = false
GROUP BY "SourceQueue"
ORDER BY "Count" DESC;)";

constexpr const char* last_day = R"(SELECT *
FROM "DeadLetterMessages"
WHERE "FailedAt" > NOW() - INTERVAL '24 hours'
ORDER BY "FailedAt" DESC;)";

constexpr const char* ten_newest =
    R"(SELECT "Id", "SourceQueue", "EventType", "ErrorMessage", "FailedAt"
FROM "DeadLetterMessages"
WHERE "Resolved" = false
ORDER BY "FailedAt" DESC
LIMIT 10;)";

constexpr const char* more_than_ten = R"(SELECT COUNT(*) AS UnresolvedCount
FROM "DeadLetterMessages"
WHERE "Resolved" = false
HAVING COUNT(*) > 10)";

constexpr const char* older_than_a_day = R"(SELECT COUNT(*) AS OldMessagesCount
FROM "DeadLetterMessages"
WHERE "Resolved" = false
  AND "FailedAt" < NOW() - INTERVAL '24 hours'
HAVING COUNT(*) > 0)";

// Document 001 asks these of a document store (S1-36 … S1-38); docs/postgres.md says them in SQL.
constexpr const char* failed_payments = R"(SELECT *
FROM "DeadLetterMessages"
WHERE "EventType" = 'PaymentRetryFailed' AND "Resolved" = false
ORDER BY "FailedAt" DESC;)";

constexpr const char* payment_details = R"(SELECT "Id",
       "Payload"::jsonb ->> 'PaymentId' AS payment_id,
       "Payload"::jsonb ->> 'BookingId' AS booking_id,
       ("Payload"::jsonb ->> 'Amount')::numeric AS amount,
       ("Payload"::jsonb ->> 'RetryCount')::int AS retry_count,
       "FailedAt", "ErrorMessage", "Resolved"
FROM "DeadLetterMessages"
WHERE "EventType" = 'PaymentRetryFailed';)";

constexpr const char* by_source = R"(SELECT "SourceQueue", COUNT(*) AS count,
       COUNT(*) FILTER (WHERE NOT "Resolved") AS unresolved
FROM "DeadLetterMessages"
GROUP BY "SourceQueue"
ORDER BY unresolved DESC;)";

class PeoplesOwnSql : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>());
    office_ = schema_->open();
    using std::chrono::hours;
    die(1, "payment_succeeded_queue", "PaymentSucceeded", R"({"BookingId":7})", hours{1});
    die(2, "payment_succeeded_queue", "PaymentSucceeded", R"({"BookingId":8})", hours{30});
    die(3, "payment_retry", "PaymentRetryFailed",
        R"({"PaymentId":"p-3","BookingId":"b-3","Amount":12.50,"RetryCount":3})", hours{2});
    die(4, "payment_retry", "PaymentRetryFailed",
        R"({"PaymentId":"p-4","BookingId":"b-4","Amount":1,"RetryCount":3})", hours{3});
    die(5, "inventory_reserved_queue", "InventoryReserved", std::string("\xFF\0 no JSON", 10),
        hours{4});
    resolve(4);
  }

  void die(std::uint64_t n, const std::string& source, const std::string& type,
           const std::string& payload, Millis ago) {
    using std::chrono::system_clock;
    const auto now = std::chrono::floor<Millis>(system_clock::now().time_since_epoch());
    auto message = std::make_shared<Message>();
    message->source = source;
    message->event_type = type;
    message->payload = payload;
    DeadLetter record = *std::get<Append>(a_death(n)).record;
    record.message = message;
    record.failure.text = "it's broken; \"quoted\" | piped";
    record.died_at = TimePoint{now - ago};
    must(office_->apply(std::vector<Change>{Append{std::make_shared<DeadLetter>(record), {}}}));
  }
  void resolve(std::uint64_t n) {
    Transition transition;
    transition.id = id_of(n);
    transition.to = Status::resolved;
    transition.resolution = Resolution{noon, "ann", "manual", "done"};
    must(office_->apply(std::vector<Change>{transition}));
  }

  /// The rows that psql prints, columns with | between.
  [[nodiscard]] std::vector<std::string> ask(const std::string& sql) const {
    const TemporaryDirectory directory;
    const std::string file = directory.path() + "/query.sql";
    std::ofstream(file) << sql;
    const std::string command = "PGOPTIONS='-c search_path=" + schema_->name() +
                                "' psql -X -A -t -v ON_ERROR_STOP=1 -f " + file + " '" +
                                schema_->address() + "' 2>&1";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string output;
    std::array<char, 4096> part{};
    while (std::fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
    EXPECT_EQ(::pclose(pipe), 0) << output;
    std::vector<std::string> lines;
    std::istringstream in(output);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  [[nodiscard]] static std::string id_text(std::uint64_t n) {
    return "00000000-0000-0007-0000-00000000000" + std::to_string(n);
  }
  /// Which records, by the first column.
  [[nodiscard]] std::string ids(const std::string& sql) const {
    std::string all;
    for (const std::string& line : ask(sql)) all += line.substr(35, 1);
    return all;
  }

  std::unique_ptr<OwnSchema> schema_;
  std::unique_ptr<PostgresOffice> office_;
};

TEST_F(PeoplesOwnSql, AllUnresolvedNewestFirst) {  // S1-33, S1-39
  EXPECT_EQ(ids(all_unresolved), "1352");
  EXPECT_EQ(ids(ten_newest), "1352");
}

TEST_F(PeoplesOwnSql, UnresolvedBySource) {  // S1-34
  const auto rows = ask(by_source_queue);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0], "payment_succeeded_queue|2");
}

TEST_F(PeoplesOwnSql, TheLastDayResolvedOrNot) {  // S1-35
  EXPECT_EQ(ids(last_day), "1345");
}

TEST_F(PeoplesOwnSql, OneRecordWhole) {  // S1-12, S1-40
  const auto rows = ask(R"(SELECT "Payload", "ErrorMessage", "AttemptCount"
FROM "DeadLetterMessages"
WHERE "Id" = ')" + id_text(1) +
                        "';");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0], R"({"BookingId":7}|it's broken; "quoted" | piped|3)");
}

TEST_F(PeoplesOwnSql, Payments) {  // S1-36, S1-37
  EXPECT_EQ(ids(failed_payments), "3");
  const auto rows = ask(payment_details);
  ASSERT_EQ(rows.size(), 2U);
  const std::string& third = rows[0].starts_with(id_text(3)) ? rows[0] : rows[1];
  EXPECT_EQ(third.find(id_text(3) + "|p-3|b-3|12.50|3|"), 0U) << third;
  EXPECT_TRUE(third.ends_with("|f")) << third;
}

TEST_F(PeoplesOwnSql, AllAndUnresolvedBySource) {  // S1-38
  const auto rows = ask(by_source);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0], "payment_succeeded_queue|2|2");
  EXPECT_NE(std::ranges::find(rows, "payment_retry|2|1"), rows.end());
}

TEST_F(PeoplesOwnSql, AlertsFireOnlyAboveTheirLimit) {  // S1-47
  EXPECT_TRUE(ask(more_than_ten).empty());
  EXPECT_EQ(ask(older_than_a_day), std::vector<std::string>{"1"});
  for (std::uint64_t n = 10; n < 17; ++n) {
    die(n, "payment_retry", "PaymentRetryFailed", "{}", std::chrono::hours{1});
  }
  EXPECT_EQ(ask(more_than_ten), std::vector<std::string>{"11"});
}

}  // namespace
}  // namespace dlo::testing
