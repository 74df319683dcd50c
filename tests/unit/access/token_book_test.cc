#include "dlo/access/token_book.h"

#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/store/memory/memory_office.h"

namespace dlo {
namespace {

using testing::must;
using testing::noon;
using namespace std::chrono_literals;

class TokenBookTest : public ::testing::Test {
 protected:
  IssuedToken create(const std::string& name, Role role = Role::reader) {
    return must(book_.create({name, role, {}}, "local", noon));
  }
  Result<Token> who(const std::string& text, TimePoint now = noon) {
    return book_.who("Bearer " + text, "10.0.0.7", now);
  }
  [[nodiscard]] std::vector<std::string> acts() {
    std::vector<std::string> all;
    for (const AuditEntry& each : must(office_.extras().ledger->audit(0, 100))) {
      all.push_back(each.act.actor + " " + each.act.act + " " + each.act.subject);
    }
    return all;
  }

  MemoryOffice office_;
  TokenBook book_{office_};
};

TEST_F(TokenBookTest, KnowsWhoseATokenIs) {
  const auto first = create("billing");
  const auto second = create("on call", Role::admin);
  EXPECT_EQ(must(who(first.text)).name, "billing");
  EXPECT_EQ(must(who(second.text)).role, Role::admin);
  EXPECT_EQ(must(book_.who("bEARER   " + first.text, "c", noon)).name, "billing");
}

TEST_F(TokenBookTest, EveryTokenIsAnotherOne) {
  EXPECT_NE(create("a").text, create("a").text);
  EXPECT_EQ(must(book_.list()).size(), 2U);
}

TEST_F(TokenBookTest, RefusesWhatIsNoTokenOfThisOffice) {
  const auto issued = create("billing");
  auto wrong = issued.text;
  wrong.back() = wrong.back() == 'A' ? 'B' : 'A';
  for (const auto& text : {std::string(), std::string("x"), wrong}) {
    const auto answer = who(text);
    ASSERT_FALSE(answer) << text;
    EXPECT_EQ(answer.error().code, Code::refused);
    // Nothing of what was sent comes back: it may be a secret of another server.
    if (text.size() > 1) {
      EXPECT_EQ(answer.error().detail.find(text), std::string::npos);
    }
  }
  EXPECT_FALSE(book_.who("Basic " + issued.text, "c", noon));
}

TEST_F(TokenBookTest, ARevokedTokenStopsAtOnceAndTheFirstRevocationCounts) {
  const auto issued = create("billing");
  must(who(issued.text));
  const auto revoked = must(book_.revoke(issued.token.id, "alice", noon + 1s));
  EXPECT_EQ(revoked.revoked_at, noon + 1s);
  EXPECT_EQ(must(book_.revoke(issued.token.id, "bob", noon + 9s)).revoked_at, noon + 1s);
  const auto answer = who(issued.text, noon + 1s);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().detail.find("revoked"), std::string::npos) << answer.error().detail;
  EXPECT_EQ(book_.revoke("00000000", "alice", noon).error().code, Code::not_found);
}

TEST_F(TokenBookTest, ATokenRevokedByAnotherProcessStopsWithinASecond) {
  const auto issued = create("billing");
  must(who(issued.text));
  TokenBook other(office_);
  must(other.revoke(issued.token.id, "alice", noon));
  EXPECT_TRUE(who(issued.text, noon + 999ms));
  EXPECT_FALSE(who(issued.text, noon + 1s));
}

TEST_F(TokenBookTest, AreRequiredFromTheFirstOnAndRevokingTheLastOpensNothing) {
  EXPECT_FALSE(must(book_.required(noon)));
  const auto issued = create("only");
  EXPECT_TRUE(must(book_.required(noon)));
  must(book_.revoke(issued.token.id, "local", noon));
  EXPECT_TRUE(must(book_.required(noon)));
}

TEST_F(TokenBookTest, ATokenExpires) {
  const auto issued = must(book_.create({"short", Role::reader, Millis{1h}}, "local", noon));
  EXPECT_TRUE(who(issued.text, noon + 59min));
  EXPECT_FALSE(who(issued.text, noon + 1h));
}

TEST_F(TokenBookTest, WrongTokensAreSlowedDownAndARightOneStillWorks) {
  const auto issued = create("billing");
  const auto wrong = token_text(TokenDraw{});
  for (int i = 0; i < 11; ++i) EXPECT_EQ(who(wrong).error().code, Code::refused) << i;
  const auto slowed = who(wrong);
  ASSERT_FALSE(slowed);
  EXPECT_EQ(slowed.error().code, Code::timed_out);
  EXPECT_NE(slowed.error().detail.find("1s"), std::string::npos) << slowed.error().detail;
  EXPECT_TRUE(who(issued.text));
  EXPECT_EQ(who(wrong, noon + 1s).error().code, Code::refused);
}

TEST_F(TokenBookTest, EveryChangeIsAudited) {
  const auto issued = create("billing");
  must(book_.revoke(issued.token.id, "alice", noon));
  EXPECT_EQ(acts(), (std::vector<std::string>{"local token.create token " + issued.token.id,
                                              "alice token.revoke token " + issued.token.id}));
}

TEST_F(TokenBookTest, TheTableIsReadBesideThoseWhoAsk) {
  std::vector<std::function<void()>> tasks;
  TokenBook server(office_);
  server.read_by([&](std::function<void()> task) {
    tasks.push_back(std::move(task));
    return true;
  });
  const auto first = must(server.create({"ana", Role::admin, {}}, "local", noon));
  EXPECT_TRUE(server.who("Bearer " + first.text, "c", noon));
  EXPECT_TRUE(tasks.empty());  // there was no table yet: it had to be read at once
  const auto second = must(TokenBook(office_).create({"bo", Role::reader, {}}, "local", noon));
  EXPECT_TRUE(server.who("Bearer " + first.text, "c", noon + 2s));
  EXPECT_TRUE(server.who("Bearer " + first.text, "c", noon + 2s));
  ASSERT_EQ(tasks.size(), 1U);  // one reads for all
  EXPECT_FALSE(server.who("Bearer " + second.text, "c", noon + 2s));
  tasks.front()();
  EXPECT_TRUE(server.who("Bearer " + second.text, "c", noon + 2s));
  // A table nobody could read for long admits nobody by itself: it is read at once.
  must(TokenBook(office_).revoke(second.token.id, "local", noon + 3s));
  EXPECT_FALSE(server.who("Bearer " + second.text, "c", noon + 60s));
}

}  // namespace
}  // namespace dlo
