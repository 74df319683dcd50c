// Records of messages that only their content tells.
#include "dlo/engine/content_claims.h"

#include <gtest/gtest.h>
#include <utility>

namespace dlo::testing {
namespace {

const RecordId one{Id128{1, 1}};
const RecordId other{Id128{1, 2}};

Message message_with(std::string payload) {
  Message message;
  message.source = "payments";
  message.payload = std::move(payload);
  return message;
}

TEST(ContentClaims, ARecordStandsForOneDelivery) {
  ContentClaims claims;
  EXPECT_TRUE(claims.claim(one));
  EXPECT_FALSE(claims.claim(one));
  EXPECT_TRUE(claims.claim(other));
}

TEST(ContentClaims, WhatWasLostBeforeItWasUsedIsFoundInTheOffice) {
  ContentClaims claims;
  claims.claim(one);
  claims.lost(message_with("a"), one);
  EXPECT_EQ(claims.take(message_with("a")), std::nullopt);
  EXPECT_TRUE(claims.claim(one));
}

TEST(ContentClaims, WhatWasLostAfterItWasUsedIsHadOnceByWhatIsAlike) {
  ContentClaims claims;
  claims.claim(one);
  claims.used(one);
  claims.lost(message_with("a"), one);
  EXPECT_EQ(claims.take(message_with("b")), std::nullopt);
  EXPECT_EQ(claims.take(message_with("a")), one);
  EXPECT_EQ(claims.take(message_with("a")), std::nullopt);
}

}  // namespace
}  // namespace dlo::testing
