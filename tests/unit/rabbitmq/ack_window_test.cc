// Which deliveries one frame acknowledges, without a server.
#include "dlo/broker/rabbitmq/ack_window.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>
#include <vector>

namespace dlo::rabbitmq {
namespace {

using Tags = std::vector<std::uint64_t>;
constexpr AckWindow::Moment early{};
constexpr AckWindow::Moment late = early + std::chrono::milliseconds{7};

AckWindow with(std::uint64_t count) {
  AckWindow window;
  for (std::uint64_t tag = 1; tag <= count; ++tag) window.came(tag);
  return window;
}

TEST(AckWindow, OneFrameTellsOfAllThatNothingOpenIsBefore) {
  AckWindow window = with(5);
  for (const std::uint64_t tag : {3U, 1U, 2U, 5U}) window.done(tag, early);
  EXPECT_EQ(window.in_front(), 3U);
  EXPECT_EQ(window.waiting(), 4U);
  EXPECT_EQ(window.take_front(), 3U);
  EXPECT_EQ(window.waiting(), 1U);
  EXPECT_EQ(window.take_front(), std::nullopt) << "the fourth is still open";
}

TEST(AckWindow, WhatWaitsForOthersIsToldTogetherWithThem) {
  AckWindow window = with(4);
  for (const std::uint64_t tag : {2U, 3U, 4U}) window.done(tag, early);
  EXPECT_EQ(window.in_front(), 0U);
  window.done(1, late);
  EXPECT_TRUE(window.all_done());
  EXPECT_EQ(window.take_front(), 4U);
  EXPECT_EQ(window.take_rest(), Tags{});
}

TEST(AckWindow, TheRestIsToldOneByOne) {
  AckWindow window = with(5);
  for (const std::uint64_t tag : {5U, 3U}) window.done(tag, early);
  EXPECT_EQ(window.take_front(), std::nullopt);
  EXPECT_EQ(window.take_rest(), (Tags{3, 5}));
  EXPECT_EQ(window.waiting(), 0U);
  for (const std::uint64_t tag : {1U, 2U, 4U}) window.done(tag, early);
  EXPECT_EQ(window.take_front(), 4U)
      << "a tag that the server does not know any more ends a channel";
}

TEST(AckWindow, WhatTheServerHasBackIsNeverAcknowledged) {
  AckWindow window = with(3);
  window.gone(2);
  window.done(2, early);
  EXPECT_EQ(window.waiting(), 0U);
  window.done(1, early);
  window.gone(3);
  EXPECT_TRUE(window.all_done());
  EXPECT_EQ(window.take_front(), 1U);
}

TEST(AckWindow, KnowsSinceWhenTheFirstOfThemWaits) {
  AckWindow window = with(3);
  EXPECT_EQ(window.oldest(), std::nullopt);
  window.done(1, early);
  window.done(3, late);
  EXPECT_EQ(window.oldest(), early);
  EXPECT_EQ(window.take_front(), 1U);
  EXPECT_EQ(window.oldest(), late);
}

TEST(AckWindow, ATagOfBeforeOrOfNobodyIsLeftAlone) {
  AckWindow window = with(2);
  window.done(7, early);
  window.done(1, early);
  EXPECT_EQ(window.take_front(), 1U);
  window.done(1, early);
  window.came(2);
  EXPECT_EQ(window.waiting(), 0U);
  window.clear();
  window.came(1);
  window.done(1, early);
  EXPECT_EQ(window.take_front(), 1U) << "a new channel counts from one";
}

RC_GTEST_PROP(AckWindow, AcknowledgesEverythingThatIsDoneOnceAndNothingElse, ()) {
  AckWindow window;
  std::set<std::uint64_t> open;
  std::set<std::uint64_t> done;
  std::uint64_t last = 0;
  const auto take = [&](std::uint64_t tag) { RC_ASSERT(done.erase(tag) == 1U); };
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100))) {
    if (step < 40 || open.empty()) {
      window.came(last += step % 7 == 0 ? 2 : 1);
      open.insert(last);
    } else if (step < 90) {
      // Near the front, or it hardly ever moves.
      const auto tag = *std::next(open.begin(), step % std::min(3, static_cast<int>(open.size())));
      open.erase(tag);
      if (step < 70) {
        done.insert(tag);
        window.done(tag, early);
      } else {
        window.gone(tag);
      }
    } else if (const auto front = step < 97 ? window.take_front() : std::nullopt) {
      RC_ASSERT(open.empty() || *open.begin() > *front);
      RC_ASSERT(done.contains(*front));
      while (!done.empty() && *done.begin() <= *front) take(*done.begin());
    } else {
      for (const std::uint64_t tag : window.take_rest()) take(tag);
      RC_ASSERT(done.empty());
    }
    RC_ASSERT(window.waiting() == done.size());
    RC_ASSERT(window.all_done() == open.empty());
  }
}

}  // namespace
}  // namespace dlo::rabbitmq
