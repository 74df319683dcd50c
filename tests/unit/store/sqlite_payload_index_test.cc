#include <filesystem>
#include <gmock/gmock.h>

#include "unit/store/sqlite_support.h"

namespace dlo::testing {
namespace {

using ::testing::ElementsAre;

class SqlitePayloadIndex : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void open(SqliteOptions options = {}) {
    office_.reset();
    office_ = open_office(directory_.path(), std::move(options));
  }
  void append(std::uint64_t n, std::string payload) {
    must_apply(*office_, {append_of(letter_with_payload(n, std::move(payload)))});
  }
  std::vector<std::uint64_t> found(const std::string& words) {
    Query query;
    query.payload_words = words;
    std::vector<std::uint64_t> numbers;
    for (const RecordId& id : all_pages(*office_, query)) numbers.push_back(id.low);
    return numbers;
  }
  /// What the index itself holds, whatever the office may judge.
  std::string indexed(const std::string& word) {
    return ask(file(), "SELECT group_concat(rowid) FROM payload_text WHERE payload_text MATCH '" +
                           word + "'");
  }
  void close_one(std::uint64_t n, Status to) {
    Transition transition;
    transition.id = letter(n).id;
    transition.to = to;
    must_apply(*office_, {transition});
  }
  [[nodiscard]] std::string file() const { return directory_.path() + "/payloads.db"; }

  TemporaryDirectory directory_;
  std::unique_ptr<SqliteOffice> office_;
};

TEST_F(SqlitePayloadIndex, FollowsTheOffice) {
  append(1, "red apple");
  append(2, "green apple");
  wait_for_index(*office_);
  EXPECT_EQ(indexed("apple"), "1,2");
  EXPECT_THAT(found("green"), ElementsAre(2));
}

TEST_F(SqlitePayloadIndex, GoesOnWhereItStoppedAfterARestart) {
  append(1, "red apple");
  wait_for_index(*office_);
  open();
  append(2, "green apple");
  wait_for_index(*office_);
  EXPECT_EQ(indexed("apple"), "1,2");
}

TEST_F(SqlitePayloadIndex, LeavesOutSourcesThatAskedForIt) {
  open({.unsearched_payloads = {"orders"}});
  append(1, "secret apple");
  wait_for_index(*office_);
  EXPECT_EQ(indexed("apple"), "NULL");
  EXPECT_THAT(found("apple"), ElementsAre());
}

TEST_F(SqlitePayloadIndex, ForgetsTheWordsOfARemovedRecord) {
  append(1, "red apple");
  append(2, "green apple");
  wait_for_index(*office_);
  close_one(1, Status::discarding);
  close_one(1, Status::discarded);
  must_apply(*office_, {Remove{letter(1).id}});
  wait_for_index(*office_);
  EXPECT_EQ(indexed("apple"), "2");
  EXPECT_THAT(found("apple"), ElementsAre(2));
}

TEST_F(SqlitePayloadIndex, TakesTheWordsOfTheLastDeath) {
  append(1, "red apple");
  wait_for_index(*office_);
  for (const char* payload : {"green apple", "yellow pear"}) {
    close_one(1, Status::resolved);
    DeadLetter again = letter_with_payload(1, payload);
    again.occurrence = must(office_->get(again.id)).record.occurrence + 1;
    again.died_at += Millis{1000 * again.occurrence};
    must_apply(*office_, {append_of(again)});
  }
  wait_for_index(*office_);
  EXPECT_EQ(indexed("apple"), "NULL");
  EXPECT_EQ(indexed("red"), "NULL");
  EXPECT_EQ(indexed("pear"), "1");
  EXPECT_THAT(found("yellow"), ElementsAre(1));
}

TEST_F(SqlitePayloadIndex, WhatItIsThroughWithIsForgottenInTheOffice) {
  append(1, "red apple");
  close_one(1, Status::discarding);
  close_one(1, Status::discarded);
  must_apply(*office_, {Remove{letter(1).id}});
  wait_for_index(*office_);
  office_.reset();
  open();
  append(2, "more");
  wait_for_index(*office_);
  const std::string office = directory_.path() + "/office.db";
  for (int i = 0; i < 10'000 && ask(office, "SELECT count(*) FROM leaving_payloads") != "0"; ++i) {
  }
  EXPECT_EQ(ask(office, "SELECT count(*) FROM leaving_payloads"), "0");
}

TEST_F(SqlitePayloadIndex, IsMadeAgainWhenItIsLost) {
  append(1, "red apple");
  wait_for_index(*office_);
  office_.reset();
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file() + suffix);
  open();
  append(2, "green apple");
  wait_for_index(*office_);
  EXPECT_EQ(indexed("apple"), "1,2");
}

TEST_F(SqlitePayloadIndex, IsMadeAgainWhenItIsDamaged) {
  append(1, "red apple");
  wait_for_index(*office_);
  office_.reset();
  write_bytes(file(), std::string(9000, 'x'));
  open();
  EXPECT_THAT(found("apple"), ElementsAre(1));  // meanwhile judged row by row
  wait_for_index(*office_);
  EXPECT_EQ(indexed("apple"), "1");
}

TEST_F(SqlitePayloadIndex, IsMadeAgainWhenItBelongsToAnotherOffice) {
  const TemporaryDirectory other;
  {
    const auto foreign = open_office(other.path());
    must_apply(*foreign, {append_of(letter_with_payload(1, "foreign pear"))});
    wait_for_index(*foreign);
  }
  append(1, "red apple");
  wait_for_index(*office_);
  office_.reset();
  std::filesystem::copy_file(other.path() + "/payloads.db", file(),
                             std::filesystem::copy_options::overwrite_existing);
  open();
  append(2, "green apple");
  const auto is_own = [this] { return indexed("apple") == "1,2"; };
  for (int i = 0; i < 20'000 && !is_own(); ++i) {
  }
  EXPECT_TRUE(is_own());
  EXPECT_EQ(indexed("pear"), "NULL");
}

TEST_F(SqlitePayloadIndex, SearchesTheFirst64KilobytesOnly) {
  append(1, std::string(70'000, ' ') + "apple");
  append(2, std::string(60'000, ' ') + "apple");
  wait_for_index(*office_);
  EXPECT_THAT(found("apple"), ElementsAre(2));
}

TEST_F(SqlitePayloadIndex, ManyMatchesAreFoundBeforeItHasFollowed) {
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 3000; ++n) {
    changes.push_back(append_of(letter_with_payload(n, "apple " + std::to_string(n))));
  }
  must_apply(*office_, changes);
  EXPECT_EQ(found("apple").size(), 3000U);  // part of them judged, part found
  wait_for_index(*office_);
  EXPECT_EQ(found("apple").size(), 3000U);
  EXPECT_THAT(found("2999 apple"), ElementsAre(2999));
}

}  // namespace
}  // namespace dlo::testing
