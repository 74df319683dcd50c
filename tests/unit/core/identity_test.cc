#include "dlo/core/identity.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <set>
#include <string>

#include "support/must.h"

namespace dlo {
namespace {

using std::chrono_literals::operator""s;
using testing::noon;

Message placed(std::string source, std::string partition, std::int64_t offset) {
  Message message;
  message.source = std::move(source);
  message.position = Position{std::move(partition), offset};
  return message;
}

Message named(std::string source, std::string id, std::optional<std::string> payload) {
  Message message;
  message.source = std::move(source);
  message.id = std::move(id);
  message.payload = std::move(payload);
  return message;
}

// --- identify (R3)

TEST(Identify, IsTheSameForEveryRepeatOfAPositionWhateverElseChanged) {
  Message first = placed("payments", "3", 41);
  Message again = first;
  again.headers.push_back({"redelivered", "true", HeaderType::boolean});
  again.enqueued_at = noon;
  EXPECT_EQ(identify(first), identify(again));
  EXPECT_EQ(identify(first, Id128{1, 2}), identify(first, Id128{3, 4}));
}

TEST(Identify, TellsNeighbouringPositionsApart) {
  std::set<RecordId> ids;
  for (const std::string source : {"a", "ab"}) {
    for (const std::string partition : {"", "b", "bb"}) {
      for (const std::int64_t offset : {-1, 0, 1, 256, 65536}) {
        ids.insert(identify(placed(source, partition, offset)));
      }
    }
  }
  EXPECT_EQ(ids.size(), 2U * 3U * 5U);
}

TEST(Identify, NeverMergesDifferentBodiesUnderOneMessageId) {
  std::set<RecordId> ids = {identify(named("q", "7", std::nullopt)), identify(named("q", "7", "")),
                            identify(named("q", "7", "x")),
                            identify(named("q", "7", std::string(1, '\0')))};
  EXPECT_EQ(ids.size(), 4U);
}

TEST(Identify, CannotBeFooledByTextThatMovesBetweenFields) {
  EXPECT_TRUE(rc::check([](const std::string& a, const std::string& b, const std::string& c) {
    RC_PRE(!b.empty());
    RC_ASSERT(identify(named(a + b, "i" + c, "")) != identify(named(a, "i" + b + c, "")));
    RC_ASSERT(identify(named("q", "i" + a, b + c)) != identify(named("q", "i" + a + b, c)));
    RC_ASSERT(identify(placed(a + b, c, 0)) != identify(placed(a, b + c, 0)));
  }));
}

TEST(Identify, DiffersWheneverSourceIdOrBodyDiffer) {
  EXPECT_TRUE(rc::check([](const std::pair<std::string, std::string>& source,
                           const std::pair<std::string, std::string>& id,
                           const std::pair<std::string, std::string>& body) {
    const Message a = named(source.first, "m" + id.first, body.first);
    const Message b = named(source.second, "m" + id.second, body.second);
    RC_ASSERT((identify(a) == identify(b)) == (a == b));
  }));
}

TEST(Identify, NeverTakesAPlaceForANameOrANameForContent) {
  Message message = named("q", "7", "x");
  const RecordId by_name = identify(message);
  message.position = Position{"7", 0};
  const RecordId by_place = identify(message);
  message.position.reset();
  message.id.clear();
  EXPECT_NE(by_name, by_place);
  EXPECT_NE(by_name, identify(message));
}

TEST(Identify, KeepsIdenticalMessagesApartThatHaveNeitherPlaceNorName) {
  const Message anonymous = named("q", "", "ping");
  EXPECT_FALSE(has_stable_identity(anonymous));
  EXPECT_NE(identify(anonymous, Id128{0, 1}), identify(anonymous, Id128{0, 2}));
  EXPECT_EQ(identify(anonymous, Id128{0, 1}), identify(anonymous, Id128{0, 1}));
}

TEST(Identify, IsPinnedSoThatStoredRecordsAreFoundAgain) {
  EXPECT_EQ(to_string(identify(placed("payments", "3", 41))), "f5405c8df772b1573c68b56b7fcbf48e");
  EXPECT_EQ(to_string(identify(named("payments", "m-1", "{}"))),
            "5bcb8f74ad5231d0e0a081e669c7ea34");
}

TEST(SameContent, ComparesWhatTheProducerSent) {
  const Message a = named("q", "1", "x");
  Message b = named("other", "2", "x");
  b.headers.push_back({"x-death", "1", HeaderType::integer});
  EXPECT_TRUE(same_content(a, b));
  for (const auto change : {0, 1, 2, 3, 4}) {
    Message c = a;
    if (change == 0) c.payload = "y";
    if (change == 1) c.payload.reset();
    if (change == 2) c.key = "k";
    if (change == 3) c.event_type = "t";
    if (change == 4) c.content_type = "text/plain";
    EXPECT_FALSE(same_content(a, c)) << change;
  }
  EXPECT_FALSE(same_content(named("q", "1", ""), named("q", "1", std::nullopt)));
}

// --- lineage

TEST(Lineage, SurvivesTheTripThroughHeaders) {
  EXPECT_TRUE(rc::check([](std::uint64_t high, std::uint64_t low) {
    const Lineage lineage{RecordId{{high, low}}, *rc::gen::inRange<std::uint32_t>(1, 0xFFFFFFFF)};
    Headers headers = {{"tenant", "acme", HeaderType::text}};
    stamp_lineage(headers, Lineage{RecordId{{1, 1}}, 1});
    stamp_lineage(headers, lineage);
    RC_ASSERT(lineage_of(headers) == lineage);
    RC_ASSERT(headers.size() == 3U);
    RC_ASSERT(headers.front().value == "acme");
  }));
}

TEST(Lineage, ReplacesStampsOfAnySpelling) {
  Headers headers = {{"DLO-ID", "junk", HeaderType::text}, {"Dlo-Replay", "9", HeaderType::text}};
  stamp_lineage(headers, Lineage{RecordId{{0, 7}}, 2});
  EXPECT_EQ(headers.size(), 2U);
  EXPECT_EQ(lineage_of(headers), (Lineage{RecordId{{0, 7}}, 2}));
}

TEST(Lineage, IsEmptyUnlessBothHeadersAreWellFormed) {
  const std::string id(32, 'a');
  const auto lineage = [](std::string record, std::string replay) {
    return lineage_of(
        {{"dlo-id", record, HeaderType::text}, {"dlo-replay", replay, HeaderType::text}});
  };
  EXPECT_TRUE(lineage(id, "1"));
  for (const auto* replay : {"", "0", "-1", "+1", " 1", "1 ", "1.0", "4294967296", "x"}) {
    EXPECT_FALSE(lineage(id, replay)) << replay;
  }
  EXPECT_FALSE(lineage("zz", "1"));
  EXPECT_FALSE(lineage_of({{"dlo-id", id, HeaderType::text}}));
  EXPECT_FALSE(lineage_of({{"dlo-replay", "1", HeaderType::text}}));
}

TEST(Lineage, IsHonouredOnlyIfThatReplayWasSent) {
  const auto honoured = [](std::uint32_t replay, std::uint32_t occurrence, std::uint32_t sent) {
    return honoured_occurrence(Lineage{RecordId{}, replay}, Sender{occurrence, sent, true, true});
  };
  EXPECT_EQ(honoured(1, 1, 1), 2U);
  EXPECT_EQ(honoured(2, 2, 1), 3U);  // came back by itself once, then was sent once
  EXPECT_EQ(honoured(1, 3, 2), 2U);  // a late copy of an early replay
  EXPECT_EQ(honoured(1, 1, 0), std::nullopt) << "nothing was ever sent";
  EXPECT_EQ(honoured(2, 1, 1), std::nullopt) << "that occurrence does not exist yet";
  EXPECT_EQ(honoured(0, 1, 1), std::nullopt);
  EXPECT_EQ(honoured(0xFFFFFFFF, 0xFFFFFFFF, 1), std::nullopt) << "no number after the last";
}

TEST(Lineage, OfAnotherMessageIsItsOwnAffair) {
  const Lineage lineage{RecordId{}, 1};
  EXPECT_EQ(honoured_occurrence(lineage, Sender{1, 1, true, false}), 2U) << "sent elsewhere";
  EXPECT_EQ(honoured_occurrence(lineage, Sender{1, 1, false, true}), std::nullopt) << "copied";
  EXPECT_EQ(honoured_occurrence(lineage, Sender{1, 0, true, false}), std::nullopt) << "never sent";
  EXPECT_EQ(honoured_occurrence(lineage, Sender{1, 0, true, false, true}), 2U) << "sent on";
  EXPECT_EQ(honoured_occurrence(lineage, Sender{2, 2, true, false}), std::nullopt)
      << "another copy died there: it would vanish behind that death";
}

TEST(Lineage, IsOfWhatWasSentNotOfWhatWasMadeOfIt) {
  Message known;
  known.id = "order-1";
  known.event_type = "OrderPlaced";
  known.payload = "{}";
  const std::optional<std::string> edited("{\"fixed\":1}");
  const std::optional<std::string>* const versions[] = {&edited};
  EXPECT_TRUE(is_what_was_sent(known, known, {}));
  Message other = known;
  other.source = "elsewhere";
  other.headers = {{"dlo-id", "x", HeaderType::text}};
  EXPECT_TRUE(is_what_was_sent(other, known, {})) << "where it is and its headers do not matter";
  other.payload = edited;
  EXPECT_TRUE(is_what_was_sent(other, known, versions));
  EXPECT_FALSE(is_what_was_sent(other, known, {})) << "it never had that payload";
  for (auto member : {&Message::id, &Message::event_type, &Message::key, &Message::content_type}) {
    Message derived = known;
    derived.*member = "another";
    EXPECT_FALSE(is_what_was_sent(derived, known, {}));
  }
  other = known;
  other.payload.reset();
  EXPECT_FALSE(is_what_was_sent(other, known, {})) << "null is not empty";
}

// --- append_effect (R3, I4)

constexpr auto insert = AppendEffect::insert;
constexpr auto merge = AppendEffect::merge;
constexpr auto reopen = AppendEffect::new_occurrence;
constexpr bool settled = false;
constexpr bool unsettled = true;
constexpr TimePoint then = noon;
constexpr TimePoint later = noon + 60s;

struct Row {
  const char* name;
  std::optional<Existing> existing;
  Arrival arrival;
  AppendEffect expected;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Appending : public ::testing::TestWithParam<Row> {};

TEST_P(Appending, FollowsTheTable) {
  EXPECT_EQ(append_effect(GetParam().existing, GetParam().arrival), GetParam().expected);
}

Arrival lineage(std::uint32_t occurrence) {
  return {occurrence, false, false, later};
}
Arrival at_a_place() {
  return {1, true, false, later};
}
Arrival by_name() {
  return {1, false, false, later};
}
Arrival by_name_redelivered() {
  return {1, false, true, later};
}
Existing is(Status status, bool unsettled_source = settled, std::uint32_t occurrence = 1) {
  return {occurrence, status, unsettled_source, then};
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(R3, Appending, ::testing::ValuesIn<Row>({
    {"TheFirstDeathIsInserted",                 std::nullopt,                       by_name(),             insert},
    {"AReplayedDeathOfAPurgedRecordIsInserted", std::nullopt,                       lineage(4),            insert},
    {"ARepeatWhileOpenMerges",                  is(Status::pending),                by_name(),             merge},
    {"ARepeatAtAPlaceWhileOpenMerges",          is(Status::exhausted),              at_a_place(),          merge},
    {"ARepeatWhileItWaitsMerges",               is(Status::waiting),                at_a_place(),          merge},
    {"ARepeatWhileItIsParkedMerges",            is(Status::parked),                 by_name(),             merge},
    {"ARepeatWhileQuarantinedMerges",           is(Status::quarantined),            by_name(),             merge},
    {"AnUnknownRepeatOfOccurrenceThreeMerges",  is(Status::pending, settled, 3),    by_name(),             merge},
    {"AReplayThatDiedIsTheNextOccurrence",      is(Status::replayed),               lineage(2),            reopen},
    {"AReplayMayDieBeforeItIsConfirmed",        is(Status::replaying),              lineage(2),            reopen},
    {"AReplayThatDiedReopensWhatWasResolved",   is(Status::resolved),               lineage(2),            reopen},
    {"ARepeatedReplayedDeathMerges",            is(Status::pending, settled, 2),    lineage(2),            merge},
    {"AVeryLateReplayedDeathMerges",            is(Status::pending, settled, 5),    lineage(2),            merge},
    {"ALateReplayedDeathDoesNotReopen",         is(Status::resolved, settled, 2),   lineage(2),            merge},
    {"ANewMessageReopensWhatWasResolved",       is(Status::resolved),               by_name(),             reopen},
    {"ANewMessageReopensWhatWasArchived",       is(Status::archived),               by_name(),             reopen},
    {"ANewMessageReopensWhatIsBeingDiscarded",  is(Status::discarding),             by_name(),             reopen},
    {"ANewMessageReopensWhatWasDiscarded",      is(Status::discarded),              by_name(),             reopen},
    {"ANewMessageReopensWhatExpired",           is(Status::expired),                by_name(),             reopen},
    {"AStaleMarkDoesNotSwallowANewMessage",     is(Status::resolved, unsettled),    by_name(),             reopen},
    {"RecordedCrashedResolvedDeliveredAgain",   is(Status::resolved, unsettled),    at_a_place(),          merge},
    {"TheSameForAMessageKnownByName",           is(Status::resolved, unsettled),    by_name_redelivered(), merge},
    {"ASourceWoundBackShowsItsFailuresAgain",   is(Status::resolved, settled),      at_a_place(),          reopen},
    {"ARedeliveredMessageAfterSettlementIsNew", is(Status::resolved, settled),      by_name_redelivered(), reopen},
    {"AnAppendRepeatedAfterClosingMerges",      is(Status::resolved),               {1, false, false, then}, merge},
    {"AReplayWhoseHeadersWereStrippedReopens",  is(Status::replayed),               by_name(),             reopen},
    {"TheSameBeforeTheReplayIsConfirmed",       is(Status::replaying),              by_name(),             reopen},
    {"TheOriginalSeenAgainDuringReplayMerges",  is(Status::replayed, unsettled),    by_name_redelivered(), merge},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Appending, TwiceIsTheSameAsOnceWhateverHappenedBetween) {  // I4: exists once after any crash
  EXPECT_TRUE(rc::check([](std::uint32_t status, bool unsettled_source, bool placed_message,
                           std::uint32_t occurrence) {
    const Arrival arrival{1 + occurrence % 5, placed_message, false, then};
    const Existing after{arrival.occurrence, all_statuses()[status % status_count],
                         unsettled_source, then};
    RC_ASSERT(append_effect(after, arrival) == merge);
  }));
}

TEST(Appending, NeverLosesAReplayThatDiedAgain) {
  EXPECT_TRUE(rc::check([](std::uint32_t status, std::uint32_t from, bool unsettled_source) {
    const std::uint32_t occurrence = 1 + from % 1000;
    const Existing record{occurrence, all_statuses()[status % status_count], unsettled_source,
                          then};
    const auto next =
        honoured_occurrence(Lineage{RecordId{}, occurrence}, Sender{occurrence, 1, true, false});
    RC_ASSERT(next.has_value());
    const Arrival arrival{*next, false, true, later};
    RC_ASSERT(append_effect(record, arrival) == reopen);
    RC_ASSERT(next_occurrence(record, arrival) == occurrence + 1);
  }));
}

TEST(Appending, NumbersEveryNewOccurrenceHigherThanTheLast) {
  EXPECT_TRUE(rc::check([](std::uint32_t have, std::uint32_t comes) {
    RC_PRE(have < 0xFFFFFFFF);
    const auto next = next_occurrence(Existing{have, Status::resolved, false, then},
                                      Arrival{comes, false, false, later});
    RC_ASSERT(next > have);
    RC_ASSERT(next >= comes);
  }));
}

TEST(IsRepeat, SettlesWithoutRunningExactlyWhatTheOfficeHas) {  // R2
  EXPECT_FALSE(is_repeat(std::nullopt, at_a_place()));
  EXPECT_TRUE(is_repeat(is(Status::pending), at_a_place()));
  EXPECT_TRUE(is_repeat(is(Status::waiting), by_name_redelivered()));
  EXPECT_TRUE(is_repeat(is(Status::resolved, unsettled), by_name_redelivered()));
  EXPECT_FALSE(is_repeat(is(Status::resolved, settled), by_name_redelivered()));
  EXPECT_FALSE(is_repeat(is(Status::replayed), lineage(2)));
}

TEST(Appending, ReadsBothSidesFromTheRecord) {
  DeadLetter letter;
  auto message = std::make_shared<Message>(placed("q", "0", 1));
  letter.message = message;
  letter.occurrence = 3;
  letter.status = Status::archived;
  letter.source_unsettled = true;
  letter.died_at = later;
  const Existing existing = existing_of(letter);
  EXPECT_EQ(existing.occurrence, 3U);
  EXPECT_EQ(existing.status, Status::archived);
  EXPECT_TRUE(existing.source_unsettled);
  EXPECT_EQ(existing.died_at, later);
  const Arrival arrival = arrival_of(letter);
  EXPECT_EQ(arrival.occurrence, 3U);
  EXPECT_TRUE(arrival.has_position);
  EXPECT_EQ(arrival.died_at, later);
  message->position.reset();
  EXPECT_FALSE(arrival_of(letter).has_position);
}

}  // namespace
}  // namespace dlo
