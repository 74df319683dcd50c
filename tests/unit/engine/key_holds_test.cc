// on_death: hold (R10, docs/adr/0029): when those who wait behind a death are let go.
#include "dlo/engine/key_holds.h"

#include "pull_room.h"

#include "dlo/core/identity.h"

namespace dlo::testing {
namespace {

/// Its lists cannot be read for a while.
class BlindOffice final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;
  Result<Page> list(const Query& query) override {
    if (blind) return Error{Code::unavailable, "test", "the office is away"};
    return inner().list(query);
  }
  bool blind = false;
};

class KeyHoldsTest : public PullDeskTest {
 protected:
  KeyHoldsTest() {
    SourceOptions options;
    options.source = "orders";
    options.on_death = OnDeath::hold;
    broker_ = std::make_unique<MemoryBroker>(options);
    use("service-bus");
  }

  static Message ordered(const std::string& id, const std::string& key) {
    Message message;
    message.id = id;
    message.key = key;
    message.payload = "x";
    return message;
  }
  void put(Publication publication) { must(broker_->publish({&publication, 1}, clock_.instant())); }
  void send(const std::string& id, const std::string& key = "ann") {
    Publication publication;
    publication.message = std::make_shared<const Message>(ordered(id, key));
    put(std::move(publication));
  }
  RecordId die(const PullDesk::Handed& handed) {
    return settle(handed.lease, PullCondemned{"Bad", "it is"}).record.value();
  }
  /// Of one that is alone in the queue.
  RecordId send_and_die(const std::string& id, const std::string& key = "ann") {
    send(id, key);
    return die(receive().at(0));
  }
  void move(const RecordId& id, Status to, std::optional<Millis> lease_for = {},
            std::optional<Counters> counters = {}) {
    Transition transition;
    transition.counters = counters;
    transition.id = id;
    transition.to = to;
    transition.now = clock_.now();
    transition.lease_for = lease_for;
    const std::vector<Change> changes{transition};
    must(kept_.apply(changes));
  }
  /// As a replay does it: marked, sent past the hold, confirmed.
  void send_back(const RecordId& id, const std::string& name) {
    Counters counters;
    counters.replay = ++replays_;
    move(id, Status::replaying, Millis{60'000}, counters);
    Message message = ordered(name, "ann");
    stamp_lineage(message.headers, {id, must(kept_.get(id)).record.occurrence});
    Publication publication;
    publication.message = std::make_shared<const Message>(std::move(message));
    publication.past_hold = true;
    publication.counters = counters;
    put(std::move(publication));
    move(id, Status::replayed);
  }
  /// How many sources had a key let go.
  std::size_t look(KeyHolds& holds) {
    const std::vector<HoldingSource> sources{{"orders", *broker_}};
    return must(holds.look(sources, clock_.instant().steady)).size();
  }
  std::vector<std::string> handed_out() {
    std::vector<std::string> ids;
    for (const auto& each : receive()) ids.push_back(each.message->id);
    return ids;
  }
  using Ids = std::vector<std::string>;

  std::uint32_t replays_ = 0;
  KeyHolds holds_{kept_};
};

TEST_F(KeyHoldsTest, AKeyIsLetGoHoweverItsDeadLetterIsClosed) {
  for (const Status to :
       {Status::resolved, Status::archived, Status::discarding, Status::expired}) {
    SCOPED_TRACE(name_of(to));
    const RecordId dead = send_and_die("1");
    send("2");
    EXPECT_EQ(look(holds_), 0U);
    EXPECT_EQ(handed_out(), Ids{}) << "it is open";
    move(dead, to);
    EXPECT_EQ(look(holds_), 1U);
    const auto next = receive();
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].message->id, "2");
    settle(next[0].lease, PullCompleted{});
    EXPECT_EQ(look(holds_), 0U) << "once";
  }
}

TEST_F(KeyHoldsTest, AKeyWaitsForTheLastOfItsDeadLetters) {
  DeadLetter older;  // from before deaths held their keys
  auto message = std::make_shared<Message>(ordered("0", "ann"));
  message->source = "orders";
  older.id = identify(*message);
  older.message = std::move(message);
  older.died_at = noon;
  const std::vector<Change> died{Append{std::make_shared<const DeadLetter>(older), {}}};
  must(kept_.apply(died));
  const RecordId dead = send_and_die("1");
  send("2");
  look(holds_);
  move(dead, Status::resolved);
  EXPECT_EQ(look(holds_), 0U);
  move(older.id, Status::archived);
  EXPECT_EQ(look(holds_), 1U);
  EXPECT_EQ(handed_out(), Ids{"2"});
}

TEST_F(KeyHoldsTest, OthersOfTheOfficeHoldNothing) {
  const RecordId dead = send_and_die("1");
  const RecordId other = send_and_die("1 of bob", "bob");
  send("2");
  send("2 of bob", "bob");
  move(other, Status::resolved);
  EXPECT_EQ(look(holds_), 1U);
  EXPECT_EQ(handed_out(), Ids{"2 of bob"});
  move(dead, Status::resolved);
  EXPECT_EQ(look(holds_), 1U);
  EXPECT_EQ(handed_out(), Ids{"2"});
}

TEST_F(KeyHoldsTest, WhatWasClosedWhileNobodyLookedIsFoundByTheNext) {  // a kill before the freeing
  const RecordId dead = send_and_die("1");
  send("2");
  look(holds_);
  move(dead, Status::resolved);
  KeyHolds another{kept_};
  EXPECT_EQ(look(another), 1U);
  EXPECT_EQ(handed_out(), Ids{"2"});
}

TEST_F(KeyHoldsTest, AHoldThatCameAfterTheClosingIsFoundSoon) {
  send("1");
  send("2");
  const auto first = receive();
  // Its record was written, the process died, and somebody was quick: it is settled as a repeat.
  look(holds_);
  const std::vector<Settlement> settled{{first.at(0).lease, DeadLettered{}}};
  must(broker_->settle(settled, clock_.instant()));
  clock_.advance(Millis{1'000});
  EXPECT_EQ(look(holds_), 0U) << "nothing changed in the office";
  clock_.advance(Millis{5'000});
  EXPECT_EQ(look(holds_), 1U);
  EXPECT_EQ(handed_out(), Ids{"2"});
}

TEST_F(KeyHoldsTest, AKeyBehindWhichNobodyWaitsIsLetGoToo) {
  const RecordId dead = send_and_die("1");
  look(holds_);
  move(dead, Status::resolved);
  EXPECT_EQ(look(holds_), 1U);
  EXPECT_FALSE(must(broker_->hold_on("ann")).held);
}

TEST_F(KeyHoldsTest, WhatCouldNotBeAskedIsAskedAgain) {
  BlindOffice office{kept_};
  KeyHolds holds{office};
  const RecordId dead = send_and_die("1");
  look(holds);
  move(dead, Status::resolved);
  office.blind = true;
  const std::vector<HoldingSource> sources{{"orders", *broker_}};
  EXPECT_FALSE(holds.look(sources, clock_.instant().steady));
  office.blind = false;
  EXPECT_EQ(look(holds), 1U);
}

TEST_F(KeyHoldsTest, AReplayComesBeforeThoseWhoWaitAndLetsThemGoWhenItIsCured) {
  const RecordId dead = send_and_die("1");
  send("2");
  look(holds_);
  send_back(dead, "1");
  EXPECT_EQ(look(holds_), 0U) << "sent is not cured";
  const auto again = receive();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].message->id, "1");
  EXPECT_EQ(look(holds_), 0U);
  settle(again[0].lease, PullCompleted{});
  EXPECT_EQ(must(kept_.get(dead)).record.status, Status::resolved);
  EXPECT_EQ(look(holds_), 1U);
  EXPECT_EQ(handed_out(), Ids{"2"});
}

TEST_F(KeyHoldsTest, AReplayThatDiesAgainLeavesThemWaiting) {
  const RecordId dead = send_and_die("1");
  send("2");
  look(holds_);
  send_back(dead, "1");
  EXPECT_EQ(die(receive().at(0)), dead);
  EXPECT_EQ(must(kept_.get(dead)).record.status, Status::pending);
  clock_.advance(Millis{10'000});
  EXPECT_EQ(look(holds_), 0U);
  EXPECT_EQ(handed_out(), Ids{});
  move(dead, Status::resolved);
  EXPECT_EQ(look(holds_), 1U);
  EXPECT_EQ(handed_out(), Ids{"2"});
}

TEST_F(KeyHoldsTest, ManyKeysAreSeenToInAFewLooks) {
  constexpr int keys = 600;
  std::vector<RecordId> dead;
  for (int i = 0; i < keys; ++i)
    dead.push_back(send_and_die("dies-" + std::to_string(i), "k" + std::to_string(i)));
  for (int i = 0; i < keys; ++i) send("waits-" + std::to_string(i), "k" + std::to_string(i));
  for (const RecordId& id : dead) move(id, Status::resolved);
  KeyHolds another{kept_};
  for (int i = 0; i < 12; ++i) {
    look(another);
    clock_.advance(Millis{5'000});
  }
  EXPECT_EQ(stats().held, 0U);
  EXPECT_EQ(stats().ready, std::uint64_t{keys});
}

TEST_F(KeyHoldsTest, ManyThatAreClosedAtOnceAreSeenToALittleAtATime) {
  constexpr int keys = 500;
  std::vector<RecordId> dead;
  for (int i = 0; i < keys; ++i)
    dead.push_back(send_and_die("dies-" + std::to_string(i), "k" + std::to_string(i)));
  for (int i = 0; i < keys; ++i) send("waits-" + std::to_string(i), "k" + std::to_string(i));
  look(holds_);
  for (const RecordId& id : dead) move(id, Status::resolved);
  look(holds_);
  EXPECT_GT(stats().held, 0U) << "whoever looks has other things to do as well";
  for (int i = 0; i < 4; ++i) look(holds_);
  EXPECT_EQ(stats().held, 0U) << "the feed told of all of them: no time had to pass";
}

TEST_F(KeyHoldsTest, ADeathOfAnExpiredOneHoldsItsKeyAsWell) {
  Message old = ordered("1", "ann");
  old.expires_at = clock_.now() + Millis{10};
  Publication publication;
  publication.message = std::make_shared<const Message>(std::move(old));
  put(std::move(publication));
  send("2");
  clock_.advance(Millis{20});
  desk_->bury_expired();
  EXPECT_EQ(handed_out(), Ids{});
  EXPECT_TRUE(must(broker_->hold_on("ann")).held);
}

}  // namespace
}  // namespace dlo::testing
