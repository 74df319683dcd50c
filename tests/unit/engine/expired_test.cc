// What grows old while its source is paused.
#include <gtest/gtest.h>

#include "unit/engine/world.h"

namespace dlo::testing {
namespace {

TEST(Expired, InAPausedSourceAMessageIsDeadAllTheSame) {
  World world;
  bool ran = false;
  world.on_every([&](const Message&, const RunContext&) {
    ran = true;
    return ok();
  });
  auto old = std::make_shared<Message>();
  old->id = "old";
  old->expires_at = noon + std::chrono::seconds{10};
  Publication publication;
  publication.message = old;
  must(world.broker.publish({&publication, 1}, noon));
  must(world.broker.pause());
  auto processor = world.processor();
  processor->drain();
  EXPECT_EQ(must(world.broker.stats(world.clock.instant())).ready, 1U);
  world.clock.advance(std::chrono::seconds{10});
  processor->drain();
  EXPECT_EQ(world.only_record().reason, "Expired");
  EXPECT_EQ(world.only_record().category, "expired");
  EXPECT_EQ(must(world.broker.stats(world.clock.instant())).dead_lettered, 1U);
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace dlo::testing
