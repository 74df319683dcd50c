// What a durable runtime sees of its poisoned items (S3-31..33, S3-37..39).

#include "conformance/office/office_suite.h"

namespace dlo::testing {
namespace {

DeadLetter owned(std::uint64_t n, const std::string& instance, std::optional<Activity> activity) {
  DeadLetter letter = a_letter(n);
  Message message = message_of(letter);
  message.owner = Owner{instance, 40 + n, std::move(activity), "parent"};
  letter.message = share(message);
  letter.counters.abandon = 5;
  letter.failure.text = "died of " + std::to_string(n);
  letter.died_at = noon + Millis{n};
  return letter;
}

std::vector<RecordId> records(const std::vector<PoisonItem>& items) {
  std::vector<RecordId> out;
  for (const PoisonItem& item : items) out.push_back(item.record);
  return out;
}

TEST_P(OfficeSuite, PoisonedItemsAreListedByKindAndInstance) {  // S3-31, S3-32, S3-39
  apply({append_of(owned(1, "i-1", std::nullopt)), append_of(owned(2, "i-1", Activity{"pay", 7})),
         append_of(owned(3, "i-2", std::nullopt)), append_of(owned(4, "i-2", Activity{"pay", 8})),
         append_of(owned(5, "i-1", Activity{"ship", 9})), append_of(a_letter(6))});
  using Ids = std::vector<RecordId>;
  PoisonBook& book = poison();
  EXPECT_EQ(records(must(book.list({.kind = PoisonKind::orchestration}))),
            (Ids{id_of(1), id_of(3)}));
  EXPECT_EQ(records(must(book.list({.kind = PoisonKind::activity}))),
            (Ids{id_of(2), id_of(4), id_of(5)}));
  EXPECT_EQ(records(must(book.list({.kind = PoisonKind::activity, .instance = "i-1"}))),
            (Ids{id_of(2), id_of(5)}));
  EXPECT_EQ(records(must(book.list({.kind = PoisonKind::orchestration, .instance = "i-2"}))),
            Ids{id_of(3)});
  EXPECT_TRUE(must(book.list({.kind = PoisonKind::orchestration, .instance = ""})).empty());
  EXPECT_EQ(must(book.count(PoisonKind::orchestration)), 2U);
  EXPECT_EQ(must(book.count(PoisonKind::activity)), 3U);
}

TEST_P(OfficeSuite, ThePoisonBookIsReadByPages) {
  for (std::uint64_t n = 1; n <= 7; ++n) append(owned(n, n % 2 == 0 ? "even" : "odd", {}));
  PoisonQuery query{.kind = PoisonKind::orchestration, .limit = 3};
  std::vector<std::size_t> pages;
  using Ids = std::vector<RecordId>;
  Ids seen;
  while (true) {
    const auto page = must(poison().list(query));
    pages.push_back(page.size());
    for (const RecordId& id : records(page)) seen.push_back(id);
    if (page.empty()) break;
    query.after = page.back().poison_id;
  }
  EXPECT_EQ(pages, (std::vector<std::size_t>{3, 3, 1, 0}));
  EXPECT_EQ(seen, (Ids{id_of(1), id_of(2), id_of(3), id_of(4), id_of(5), id_of(6), id_of(7)}));
  query = {.kind = PoisonKind::orchestration, .instance = "odd", .limit = 2};
  query.after = must(poison().list(query)).back().poison_id;
  EXPECT_EQ(records(must(poison().list(query))), (Ids{id_of(5), id_of(7)}));
  query.limit = 0;
  EXPECT_TRUE(must(poison().list(query)).empty());
}

TEST_P(OfficeSuite, APoisonedItemTellsWhatDocumentThreeWantsToKnow) {  // S3-37, S3-38
  const DeadLetter letter = owned(1, "i-1", Activity{"pay", 7});
  const Applied first = append(letter);
  const auto items = must(poison().list({.kind = PoisonKind::activity}));
  ASSERT_EQ(items.size(), 1U);
  const PoisonItem& item = items[0];
  EXPECT_EQ(item.poison_id, first.number);
  EXPECT_EQ(item.record, letter.id);
  EXPECT_EQ(item.instance_id, "i-1");
  EXPECT_EQ(item.execution_id, 41U);
  EXPECT_EQ(item.activity, (Activity{"pay", 7}));
  EXPECT_EQ(item.abandon_count, 5U);
  EXPECT_EQ(item.last_error, "died of 1");
  EXPECT_EQ(item.poisoned_at, letter.died_at);

  const auto detail = must(poison().get(PoisonKind::activity, item.poison_id));
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->item.record, letter.id);
  EXPECT_EQ(print(*detail->work_item), print(*letter.message));
  EXPECT_EQ(detail->original_created_at, letter.message->enqueued_at);
  EXPECT_FALSE(must(poison().get(PoisonKind::orchestration, item.poison_id)));
  EXPECT_FALSE(must(poison().get(PoisonKind::activity, item.poison_id + 1)));
}

TEST_P(OfficeSuite, AnItemWithoutErrorTextHasNoLastError) {
  DeadLetter letter = owned(1, "i-1", std::nullopt);
  letter.failure = Failure{};
  append(letter);
  const auto items = must(poison().list({.kind = PoisonKind::orchestration}));
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].last_error, std::nullopt);
  EXPECT_EQ(items[0].activity, std::nullopt);
}

TEST_P(OfficeSuite, OnlyOpenRecordsThatWereNotSentBackArePoison) {  // S3-35
  std::uint64_t n = 0;
  std::size_t open = 0;
  for (const Status status : all_statuses()) {
    bring_to(owned(++n, "i-1", std::nullopt), status);
    if (is_open(status) && status != Status::replaying && status != Status::replayed) ++open;
  }
  EXPECT_EQ(must(poison().list({.kind = PoisonKind::orchestration, .instance = "i-1"})).size(),
            open);
  EXPECT_EQ(must(poison().count(PoisonKind::orchestration)), open);
}

TEST_P(OfficeSuite, ATakenOutItemIsGoneFromTheBookAndBackWhenItPoisonsAgain) {  // S3-34, S3-35
  const Applied first = append(owned(1, "i-1", std::nullopt));
  apply_one(to(Status::resolved, 1));
  EXPECT_EQ(must(poison().count(PoisonKind::orchestration)), 0U);
  EXPECT_FALSE(must(poison().get(PoisonKind::orchestration, first.number)));
  DeadLetter again = owned(1, "i-1", std::nullopt);
  again.occurrence = 2;
  append(again);
  EXPECT_EQ(must(poison().count(PoisonKind::orchestration)), 1U);
  EXPECT_TRUE(must(poison().get(PoisonKind::orchestration, first.number)));
}

}  // namespace
}  // namespace dlo::testing
