#include "dlo/access/token.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace dlo {
namespace {

using testing::must;
using testing::noon;
using namespace std::chrono_literals;

TokenDraw drawn(char fill) {
  TokenDraw draw{};
  draw.id.fill(fill);
  draw.secret.fill(static_cast<char>(fill + 1));
  return draw;
}

Token token_of(const TokenDraw& draw) {
  Token token;
  token.id = token_id(draw);
  token.name = "billing";
  token.role = Role::operator_;
  token.hash = hash_of_secret(must(Result<TokenText>(*parse_token(token_text(draw)))).secret);
  token.created_at = noon;
  token.created_by = "local";
  return token;
}

TEST(TokenText, IsTakenApartIntoIdAndSecret) {
  const auto text = token_text(drawn('\x12'));
  const auto parsed = parse_token(text);
  ASSERT_TRUE(parsed) << text;
  EXPECT_EQ(parsed->id, "12121212");
  EXPECT_EQ(parsed->secret.size(), 43U);
  EXPECT_EQ("dlo_" + parsed->id + "_" + parsed->secret, text);
}

TEST(TokenText, IsRefusedWithAnyCharacterMissingTooManyOrForeign) {
  const auto text = token_text(drawn('\xfe'));
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(parse_token(text.substr(0, i)));
    auto foreign = text;
    foreign[i] = '!';
    EXPECT_FALSE(parse_token(foreign)) << foreign;
  }
  EXPECT_FALSE(parse_token(text + "a"));
}

TEST(TokenSecret, IsKnownByItsHashAndAnyOtherIsNot) {
  const Token token = token_of(drawn('a'));
  auto secret = parse_token(token_text(drawn('a')))->secret;
  EXPECT_TRUE(is_secret_of(token, secret));
  for (char& c : secret) {
    const char kept = c;
    c = c == 'x' ? 'y' : 'x';
    EXPECT_FALSE(is_secret_of(token, secret));
    c = kept;
  }
  EXPECT_FALSE(is_secret_of(token, ""));
  EXPECT_FALSE(is_secret_of(Token{}, ""));  // a record without a hash opens to nobody
}

TEST(TokenRecord, ComesBackFromItsJsonAndHoldsNoSecret) {
  Token token = token_of(drawn('k'));
  token.expires_at = noon + 24h;
  token.revoked_at = noon + 1h;
  const auto json = to_json(token);
  EXPECT_EQ(must(parse_token_record(json)), token);
  EXPECT_EQ(json.find(parse_token(token_text(drawn('k')))->secret), std::string::npos);
}

TEST(TokenRecord, OfANewerProgramIsRefusedByTheNameOfWhatIsUnknown) {
  auto json = to_json(token_of(drawn('k')));
  json.insert(1, R"("scope":"payments",)");
  const auto parsed = parse_token_record(json);
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().detail.find("scope"), std::string::npos) << parsed.error().detail;
}

TEST(Token, MayBeUsedUntilItExpiresOrIsRevoked) {
  Token token = token_of(drawn('a'));
  token.expires_at = noon + 1h;
  EXPECT_FALSE(why_unusable(token, noon));
  EXPECT_FALSE(why_unusable(token, noon + 59min));
  EXPECT_NE(why_unusable(token, noon + 1h)->find("expired"), std::string::npos);
  token.revoked_at = noon;
  EXPECT_NE(why_unusable(token, noon)->find("revoked"), std::string::npos);
}

TEST(RoleNames, AreReadExactlyAndOtherwiseTheNearestIsNamed) {
  EXPECT_EQ(must(parse_role("reader")), Role::reader);
  EXPECT_EQ(must(parse_role("operator")), Role::operator_);
  EXPECT_EQ(must(parse_role("admin")), Role::admin);
  const auto wrong = parse_role("operatr");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().detail.find("did you mean \"operator\""), std::string::npos);
  EXPECT_FALSE(parse_role("nobody"));  // what those without a token are
}

TEST(TokenName, SaysSomethingAndFitsOnALine) {
  EXPECT_TRUE(check_token_name("billing service"));
  EXPECT_FALSE(check_token_name(""));
  EXPECT_FALSE(check_token_name("two\nlines"));
  EXPECT_FALSE(check_token_name(std::string(101, 'x')));
  EXPECT_FALSE(check_token_name("\xff"));
}

}  // namespace
}  // namespace dlo
