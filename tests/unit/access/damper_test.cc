#include "dlo/access/damper.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::noon;

void fail_often(Damper& damper, const std::string& client, int times) {
  for (int i = 0; i < times; ++i) damper.failed(client, noon);
}

TEST(Damper, LetsTenWrongTriesPassAndThenDoublesTheWait) {
  Damper damper;
  fail_often(damper, "a", 10);
  EXPECT_EQ(damper.wait_of("a", noon), std::nullopt);
  for (const Millis expected : {1s, 2s, 4s, 8s}) {
    damper.failed("a", noon);
    EXPECT_EQ(damper.wait_of("a", noon), expected);
  }
  EXPECT_EQ(damper.wait_of("a", noon + 8s), std::nullopt);
  EXPECT_EQ(damper.wait_of("b", noon), std::nullopt);  // others are not held back
}

TEST(Damper, NeverWaitsLongerThanFiveMinutes) {
  Damper damper;
  fail_often(damper, "a", 1'000);
  EXPECT_EQ(damper.wait_of("a", noon), Millis{5min});
  EXPECT_EQ(damper.wait_of("a", noon - 1h), Millis{5min});  // the clock was set back
}

TEST(Damper, ForgetsAfterAQuietQuarterOfAnHour) {
  Damper damper;
  fail_often(damper, "a", 15);
  damper.failed("a", noon + 16min);
  EXPECT_EQ(damper.wait_of("a", noon + 16min), std::nullopt);
}

TEST(Damper, RemembersABoundedNumberOfClientsAndThoseWhoFailedLast) {
  Damper damper({.most_clients = 100});
  for (int i = 0; i < 10'000; ++i) damper.failed(std::to_string(i), noon + i * 1ms);
  EXPECT_LE(damper.size(), 100U);
  for (int i = 0; i < 11; ++i) damper.failed("9999", noon + 10s);
  EXPECT_TRUE(damper.wait_of("9999", noon + 10s));
}

}  // namespace
}  // namespace dlo
