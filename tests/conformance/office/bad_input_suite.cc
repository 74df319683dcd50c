// Absurd sizes, absurd bytes, absurd times. Kept as given, or refused; never a crash.

#include <limits>

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

TEST_P(OfficeSuite, APayloadOf64MegabytesIsKept) {
  DeadLetter letter = a_letter(1);
  Message message = message_of(letter);
  message.payload = std::string(64U << 20U, '\0');
  for (std::size_t i = 0; i < message.payload->size(); i += 4'093) {
    (*message.payload)[i] = static_cast<char>(i * 31);
  }
  letter.message = share(message);
  append(letter);
  const auto kept = record(id_of(1)).message->payload;
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->size(), 64U << 20U);
  EXPECT_TRUE(*kept == *message.payload);
  const auto rows = walk({});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].payload_size, 64U << 20U);
}

TEST_P(OfficeSuite, TenThousandHeadersKeepTheirOrder) {
  DeadLetter letter = a_letter(1);
  Message message = message_of(letter);
  for (int i = 0; i < 10'000; ++i) {
    message.headers.push_back({"h" + std::to_string(i % 100), std::string(1, static_cast<char>(i)),
                               static_cast<HeaderType>(i % 8)});
  }
  letter.message = share(message);
  append(letter);
  EXPECT_TRUE(record(id_of(1)).message->headers == message.headers);
}

TEST_P(OfficeSuite, HugeTextsAreKept) {
  DeadLetter letter = a_letter(1);
  const std::string huge(4U << 20U, 'x');
  letter.failure.text = "needle " + huge;
  letter.failure.stack = huge;
  letter.failure.causes.assign(1'000, Cause{"Type", "text"});
  letter.metadata = huge;
  letter.tags.assign(10'000, "tag");
  letter.depends_on.assign(10'000, id_of(5));
  Message message = message_of(letter);
  message.id = std::string(100'000, 'i');
  message.key = std::string(100'000, 'k');
  message.source = std::string(100'000, 's');
  letter.message = share(message);
  append(letter);
  // Not EXPECT_EQ: to tell two texts of so many lines apart it would want gigabytes.
  EXPECT_TRUE(print(record(id_of(1)), false) == print(letter, false));
  Query query;
  query.error_words = "needle";
  query.source = message.source;
  EXPECT_EQ(ids(query).size(), 1U);
}

TEST_P(OfficeSuite, EveryByteIsKeptEverywhere) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
  DeadLetter letter = a_full_letter(1);
  letter.category = every;
  letter.failure.text = every;
  letter.fingerprint.title = every;
  Message message = message_of(letter);
  message.payload = every;
  message.source = every;
  message.key = every;
  letter.message = share(message);
  append(letter);
  EXPECT_EQ(print(record(id_of(1)), false), print(letter, false));
  EXPECT_EQ(tally(every, letter.status, every), 1U);
  EXPECT_EQ(group(group_of(1))->title, every);
  Query query;
  query.source = every;
  query.category = every;
  query.key = every;
  EXPECT_EQ(ids(query).size(), 1U);
}

TEST_P(OfficeSuite, NamesThatDifferOnlyBehindANulAreDifferent) {
  for (std::uint64_t n = 1; n <= 2; ++n) {
    DeadLetter letter = a_letter(n);
    Message message = message_of(letter);
    message.source = std::string("s\0", 2) + std::to_string(n);
    letter.message = share(message);
    letter.category = std::string("c\0", 2) + std::to_string(n);
    append(letter);
  }
  EXPECT_EQ(must(office().aggregate({})).tallies.size(), 2U);
  Query query;
  query.source = std::string("s\0", 2) + "1";
  EXPECT_EQ(ids(query), std::vector{id_of(1)});
}

TEST_P(OfficeSuite, TheEndsOfTimeAreTimes) {
  DeadLetter first = a_letter(1);
  first.died_at = TimePoint::min();
  DeadLetter last = a_waiting(2, TimePoint::max());
  last.status = Status::pending;
  last.died_at = TimePoint::max();
  apply({append_of(first), append_of(last)});
  Query query;
  query.limit = 1;
  EXPECT_EQ(ids(query), (std::vector{id_of(2), id_of(1)}));
  query.order = Order::oldest_first;
  EXPECT_EQ(ids(query), (std::vector{id_of(1), id_of(2)}));
  EXPECT_TRUE(claim(1, noon).empty());
  EXPECT_EQ(claim(1, TimePoint::max(), Millis{1'000}).size(), 1U);
}

TEST_P(OfficeSuite, ExtremeIdsAreIds) {
  DeadLetter zero = a_letter(1);
  zero.id = RecordId{};
  DeadLetter ones = a_letter(2);
  ones.id.high = ones.id.low = std::numeric_limits<std::uint64_t>::max();
  ones.fingerprint.hash = ones.id;
  apply({append_of(zero), append_of(ones)});
  EXPECT_TRUE(is_there(zero.id));
  EXPECT_TRUE(is_there(ones.id));
  EXPECT_EQ(group(ones.id)->total, 1U);
  EXPECT_EQ(ids({}).size(), 2U);
}

TEST_P(OfficeSuite, AThousandAttemptsInOneAppendAreCapped) {
  std::vector<Attempt> attempts;
  for (std::uint32_t i = 1; i <= 1'000; ++i) attempts.push_back(an_attempt(i));
  append(a_letter(1), attempts);
  const auto kept = detail(id_of(1)).attempts;
  ASSERT_EQ(kept.size(), attempts_kept);
  EXPECT_EQ(kept.front().number, 1'000U);
  EXPECT_EQ(kept.back().number, 1U);
}

TEST_P(OfficeSuite, ForeignAndStaleTokensAreAnswersNotCrashes) {
  append(a_waiting(1, noon));
  std::vector<LeaseToken> tokens(3);
  tokens[1].high = tokens[1].low = std::numeric_limits<std::uint64_t>::max();
  tokens[2].low = 1;
  EXPECT_EQ(must(office().renew(tokens, noon, Millis{1'000})), std::vector<bool>(3, false));
  EXPECT_TRUE(must(office().renew({}, noon, Millis{1'000})).empty());
  for (const LeaseToken& token : tokens) {
    Transition settle = to(Status::resolved, 1);
    settle.lease = token;
    EXPECT_EQ(refusal_of({settle}), Code::lease_lost);
  }
}

TEST_P(OfficeSuite, ABigDocumentIsKept) {
  const std::string body(8U << 20U, '\x80');
  apply_one(PutDocument{"view", "big", body, 0});
  EXPECT_TRUE(must(ledger().document("view", "big"))->body == body);
}

}  // namespace
}  // namespace dlo::testing
