// Who leads among several servers on one office.
#include "dlo/store/postgres/node_seat.h"

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "unit/postgres/support.h"

#include "dlo/store/postgres/seat.h"

namespace dlo::testing {
namespace {

using postgres::NodeSeat;

class PostgresNodeSeat : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>()); }
  [[nodiscard]] std::unique_ptr<NodeSeat> seat_of(const std::string& who,
                                                  Millis silence = Millis{5'000}) const {
    return std::make_unique<NodeSeat>(
        schema_->address(),
        postgres::NodeSeatOptions{schema_->name(), who, "hints of " + who, silence});
  }
  [[nodiscard]] static std::uint64_t turn_of(NodeSeat& seat) {
    const auto view = seat.look();
    return view ? view->turn : 0;
  }
  void end_connections() const {
    (void)schema_->person().ask(
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_locks WHERE locktype = 'advisory' "
        "AND (classid::bigint << 32 | objid::bigint) = $1",
        postgres::Params(postgres::seat_lock(schema_->name())));
  }
  std::unique_ptr<OwnSchema> schema_;
};

TEST_F(PostgresNodeSeat, IsOnesAtATimeAndOthersAreToldWhose) {
  const auto ann = seat_of("ann");
  const auto bob = seat_of("bob");
  EXPECT_GT(turn_of(*ann), 0U);
  const SeatView view = must(bob->look());
  EXPECT_EQ(view.turn, 0U);
  EXPECT_EQ(view.holder, "ann");
  EXPECT_EQ(turn_of(*ann), turn_of(*ann)) << "it is kept, not taken again";
  ann->leave();
  EXPECT_TRUE(eventually([&] { return turn_of(*bob) > 0; }));
}

TEST_F(PostgresNodeSeat, IsAnothersWhenTheHolderSaysNothing) {
  const auto ann = seat_of("ann", Millis{300});
  const auto bob = seat_of("bob");
  ASSERT_GT(turn_of(*ann), 0U);
  EXPECT_TRUE(eventually([&] { return turn_of(*bob) > 0; })) << "ann stood still";
  EXPECT_EQ(turn_of(*ann), 0U);
}

TEST_F(PostgresNodeSeat, EachTimeItIsTakenIsAnotherTurn) {
  const auto ann = seat_of("ann");
  const std::uint64_t first = turn_of(*ann);
  end_connections();
  EXPECT_TRUE(eventually([&] { return turn_of(*ann) > first; }));
}

TEST_F(PostgresNodeSeat, ACommandThatWantsToBeAloneIsRefusedAndMeanwhileNobodyLeads) {
  const auto ann = seat_of("dlo serve on ann");
  ASSERT_GT(turn_of(*ann), 0U);
  PostgresOptions alone = schema_->options();
  alone.serves_as = "dlo";
  const auto refused = PostgresOffice::open(schema_->address(), alone);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("is served by 'dlo serve on ann'"), std::string::npos)
      << refused.error().detail;
  ann->leave();
  auto office = must(PostgresOffice::open(schema_->address(), alone));
  EXPECT_EQ(turn_of(*ann), 0U);
  office.reset();
  EXPECT_TRUE(eventually([&] { return turn_of(*ann) > 0; }));
}

TEST_F(PostgresNodeSeat, HearsOfWhatOthersWriteAndNotOfItsOwn) {
  const auto ann = seat_of("ann");
  ASSERT_GT(turn_of(*ann), 0U);
  const auto office_of = [&](const std::string& who) {
    PostgresOptions options = schema_->options();
    options.hints_as = "hints of " + who;
    return must(PostgresOffice::open(schema_->address(), options));
  };
  const auto write = [](Office& office) {
    const Change note = PutDocument{"job", "one", "started", std::nullopt};
    must(office.apply({&note, 1}));
  };
  const auto anns = office_of("ann");
  const auto bobs = office_of("bob");
  write(*anns);
  EXPECT_FALSE(ann->wait(Millis{200}, {})) << "its own";
  write(*bobs);
  EXPECT_TRUE(ann->wait(Millis{10'000}, {}));
  EXPECT_FALSE(ann->wait(Millis{1}, {})) << "once";
}

TEST_F(PostgresNodeSeat, TellsWhatTheServersClockShows) {
  const auto ann = seat_of("ann");
  std::optional<Millis> ahead;
  ASSERT_TRUE(eventually([&] { return (ahead = must(ann->measure())).has_value(); }));
  const auto own = std::chrono::floor<Millis>(std::chrono::system_clock::now().time_since_epoch()) -
                   std::chrono::floor<Millis>(std::chrono::steady_clock::now().time_since_epoch());
  EXPECT_LE(std::chrono::abs(*ahead - own), Millis{250}) << "they are on one machine";
}

}  // namespace
}  // namespace dlo::testing
