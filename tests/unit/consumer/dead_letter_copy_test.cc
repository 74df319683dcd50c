// The copy of a dead letter for the dead-letter queue of its consumer.
#include "dlo/consumer/dead_letter_copy.h"

#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/consumer/dead_letter_copies.h"

namespace dlo::testing {
namespace {

using consumer::copy_of;
using consumer::Telling;

DeadLetter dead() {
  auto message = std::make_shared<Message>();
  message->id = "m-1";
  message->payload = "body";
  message->headers = {{"tenant", "acme"}, {"amqp-expiration", "100"}, {"dlo-error", "an old one"}};
  DeadLetter record;
  record.message = std::move(message);
  record.failure.text = "Balance not found";
  record.failure.type = "InvalidOperationException";
  record.failure.stack = "at Pay()";
  record.reason = "MaxRequeueAttemptsExceeded";
  record.counters.attempt = 3;
  record.first_attempt_at = noon;
  record.died_at = noon + std::chrono::seconds{5};
  return record;
}
std::string told(const Message& message, std::string_view name) {
  const Header* const found = find_header(message.headers, name);
  return found == nullptr ? "" : found->value;
}

TEST(DeadLetterCopy, IsTheMessageAndWhyItDied) {
  const auto copy = copy_of(dead(), {"payments", false}, Telling::all);
  EXPECT_EQ(copy->id, "m-1");
  EXPECT_EQ(copy->payload, "body");
  EXPECT_EQ(copy->headers.front(), (Header{"tenant", "acme"}));
  EXPECT_EQ(told(*copy, "dlo-error"), "Balance not found");
  EXPECT_EQ(told(*copy, "dlo-error-stack"), "at Pay()");
  EXPECT_EQ(told(*copy, "dlo-failed-queue"), "payments");
  EXPECT_EQ(told(*copy, "dlo-failed-attempts"), "3");
  EXPECT_EQ(told(*copy, "dlo-failed-first-at"), "2026-03-01T12:00:00.000Z");
  EXPECT_EQ(told(*copy, "amqp-expiration"), "") << "it must not vanish from there";
  EXPECT_EQ(told(*copy, "x-retry-count"), "");
}

TEST(DeadLetterCopy, SpeaksTheLanguageOfTheDocumentWhereThatIsItsProfile) {  // R1-4, S1-6
  const auto copy = copy_of(dead(), {"payments", true}, Telling::all);
  EXPECT_EQ(told(*copy, "x-retry-count"), "3");
  EXPECT_EQ(told(*copy, "x-error-message"), "Balance not found");
  EXPECT_EQ(told(*copy, "x-stack-trace"), "at Pay()");
  EXPECT_EQ(told(*copy, "x-original-queue"), "payments");
  EXPECT_EQ(told(*copy, "x-first-attempt"), "2026-03-01T12:00:00.000Z");
  EXPECT_EQ(told(*copy, "x-failed-at"), "2026-03-01T12:00:05.000Z");
}

TEST(DeadLetterCopy, CutsWhatIsLong) {  // RMQ-11
  DeadLetter record = dead();
  record.failure.stack = std::string(1U << 20U, 's');
  const auto copy = copy_of(record, {"payments", false}, Telling::all);
  EXPECT_LT(told(*copy, "dlo-error-stack").size(), 40'000U);
  const auto brief = copy_of(record, {"payments", false}, Telling::briefly);
  EXPECT_EQ(told(*brief, "dlo-error-stack"), "");
  EXPECT_EQ(copy_of(record, {"payments", false}, Telling::nothing)->headers,
            (Headers{{"tenant", "acme"}}));
}

TEST(DeadLetterCopy, IsSentWithLessIfItDoesNotFit) {  // RMQ-11
  std::vector<std::size_t> sizes;
  DeadLetterCopies copies(
      [&](std::span<const MessagePtr> all) -> Result<std::vector<std::optional<Error>>> {
        std::vector<std::optional<Error>> outcomes(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
          sizes.push_back(all[i]->headers.size());
          if (all[i]->headers.size() > 1) outcomes[i] = Error{Code::invalid_argument, "t", "large"};
        }
        return outcomes;
      },
      {"payments", false}, "payments");
  const DeadLetter record = dead();
  const DeadLetter* const one = &record;
  const auto answers = copies.send({&one, 1});
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_TRUE(answers[0]);
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_GT(sizes[0], sizes[1]);
  EXPECT_EQ(sizes[2], 1U);
}

}  // namespace
}  // namespace dlo::testing
