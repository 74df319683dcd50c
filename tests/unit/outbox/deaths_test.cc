// A row that is given up: one record and a marked row, whatever dies between which two steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "unit/engine/faults.h"
#include "unit/outbox/support.h"

#include "dlo/store/postgres/escorts.h"

namespace dlo::testing {
namespace {

using ::testing::ElementsAre;

class DyingRows : public OutboxTest {
 protected:
  void SetUp() override {
    OutboxTest::SetUp();
    if (IsSkipped()) return;
    Profile dies = must(find_profile("booking"));  // with its third failure
    dies.retry = profile_.retry;
    dies.placement = Placement::delayed;
    profile_ = std::move(dies);
    outlet_.refuse = [](const outbox::Post& post) {
      return post.message->payload == "\"good\"" ? std::nullopt : std::optional(no_room());
    };
  }
  /// The office is in the database of the table.
  void move_in() {
    together_ = std::make_shared<postgres::Escorts>();
    PostgresOptions options = schema_->options();
    options.schema = schema_->name() + "_office";
    options.escorts = together_;
    neighbour_ = must(PostgresOffice::open(schema_->address(), options));
    kept_in_ = neighbour_.get();
  }
  void TearDown() override {
    kill();
    neighbour_.reset();
    if (schema_ && together_) {
      run("DROP SCHEMA " + outbox::quoted(schema_->name() + "_office") + " CASCADE");
    }
  }
  void cut() {
    run("SELECT pg_terminate_backend(" + std::to_string(relay().process()) + ", 5000)");
  }
  /// Whoever reads or writes next does so in another life.
  void until_over() {
    for (int i = 0; i < 40 && pending() > 0; ++i) {
      kill();
      drain();
      clock_.advance(Millis{10'000});
    }
    drain();
  }
  void expect_one_record() {
    EXPECT_EQ(pending(), 0);
    const auto all = kept();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].record.occurrence, 1U);
    EXPECT_EQ(all[0].record.counters.failure, 3U);
    EXPECT_EQ(count("dead_letter = '" + to_string(all[0].record.id) + "'"), 1);
  }
  void fail_twice() {
    for (int i = 0; i < 2; ++i) {
      drain();
      clock_.advance(Millis{10'000});
    }
  }

  std::unique_ptr<PostgresOffice> neighbour_;
};

TEST_F(DyingRows, AKillBeforeTheAttemptIsCountedCostsOneMoreAttempt) {
  put("lost");
  fail_twice();
  outlet_.before_answer = [&] {
    cut();
    outlet_.before_answer = nullptr;
  };
  (void)relay().round();
  EXPECT_EQ(count("attempts = 2"), 1);
  until_over();
  expect_one_record();
}

TEST_F(DyingRows, AKillBeforeTheRecordLeavesTheRowToTheNext) {
  put("lost");
  fail_twice();
  FlakyOffice down_office(office_, Chaos([](const char* call) -> std::optional<Fault> {
                            if (std::string_view(call) != "apply") return std::nullopt;
                            return Fault{down("apply"), false};
                          }));
  kill();
  kept_in_ = &down_office;
  drain();
  EXPECT_EQ(relay().status().state, RelayState::office_down);
  EXPECT_EQ(count("attempts = 3"), 1) << "counted before anything else";
  put("good");
  drain();
  EXPECT_THAT(outlet_.taken(), ElementsAre("\"good\"")) << "others go on";
  kill();
  kept_in_ = &office_;
  until_over();
  EXPECT_EQ(pending(), 0);
  ASSERT_EQ(kept().size(), 1U);
}

TEST_F(DyingRows, ARecordThatCouldNotBeWrittenIsWrittenWhenTheOfficeIsBackWithoutASend) {
  put("lost");
  fail_twice();
  bool office_down = true;
  FlakyOffice flaky(office_, Chaos([&](const char* call) -> std::optional<Fault> {
                      if (!office_down || std::string_view(call) != "apply") return std::nullopt;
                      return Fault{down("apply"), false};
                    }));
  kill();
  kept_in_ = &flaky;
  drain();
  drain();
  office_down = false;
  drain();
  EXPECT_EQ(outlet_.tries(json("lost")), 3);
  expect_one_record();
}

TEST_F(DyingRows, AKillBetweenRecordAndRowLeavesOneRecordAndIsNotSentAgain) {
  put("lost");
  fail_twice();
  FlakyOffice cutting(office_, Chaos([&](const char* call) -> std::optional<Fault> {
                        if (std::string_view(call) == "apply" && relay_) cut();
                        return std::nullopt;
                      }));
  kill();
  kept_in_ = &cutting;
  EXPECT_EQ(relay().round(), Relay::After::trouble);
  EXPECT_EQ(pending(), 1);
  EXPECT_EQ(kept().size(), 1U);
  EXPECT_TRUE(kept()[0].record.source_unsettled);
  outlet_.refuse = nullptr;  // it could be sent by now, but then it would be two things at once
  kill();
  kept_in_ = &office_;
  until_over();
  expect_one_record();
  EXPECT_EQ(outlet_.tries(json("lost")), 3);
  EXPECT_FALSE(kept()[0].record.source_unsettled);
}

TEST_F(DyingRows, ARecordThatSomebodyClosedMeanwhileStaysClosed) {
  put("lost");
  fail_twice();
  FlakyOffice cutting(office_, Chaos([&](const char* call) -> std::optional<Fault> {
                        if (std::string_view(call) == "apply" && relay_) cut();
                        return std::nullopt;
                      }));
  kill();
  kept_in_ = &cutting;
  (void)relay().round();
  kill();
  kept_in_ = &office_;
  Transition close;
  close.id = kept()[0].record.id;
  close.to = Status::resolved;
  close.now = clock_.now();
  close.resolution = Resolution{clock_.now(), "ann", "manual", ""};
  const Change change = close;
  must(office_.apply({&change, 1}));
  until_over();
  expect_one_record();
  EXPECT_EQ(kept()[0].record.status, Status::resolved);
}

TEST_F(DyingRows, WithoutAColumnForAttemptsAKillBetweenRecordAndRowIsTheSame) {
  run("ALTER TABLE dlo_outbox DROP COLUMN attempts");
  put("lost");
  fail_twice();
  FlakyOffice cutting(office_, Chaos([&](const char* call) -> std::optional<Fault> {
                        if (std::string_view(call) == "apply" && relay_) cut();
                        return std::nullopt;
                      }));
  kill();
  kept_in_ = &cutting;
  (void)relay().round();
  ASSERT_EQ(kept().size(), 1U);
  outlet_.refuse = nullptr;
  kill();
  kept_in_ = &office_;
  until_over();
  expect_one_record();
  EXPECT_EQ(outlet_.tries(json("lost")), 3);
}

TEST_F(DyingRows, OneThatTheOfficeWillNotHaveKeepsNoOtherOut) {
  put("hated");
  put("lost");
  fail_twice();
  FlakyOffice choosy(office_, Look([](std::span<const Change> changes) -> std::optional<Error> {
                       for (const Change& each : changes) {
                         const auto* append = std::get_if<Append>(&each);
                         if (append != nullptr && append->record->message->payload == "\"hated\"") {
                           return Error{Code::invalid_argument, "test", "not that one"};
                         }
                       }
                       return std::nullopt;
                     }));
  kill();
  kept_in_ = &choosy;
  drain();
  EXPECT_EQ(pending(), 1);
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0].record.message->payload, json("lost"));
}

TEST_F(DyingRows, WithTheOfficeInTheSameDatabaseRecordAndRowAreOneTransaction) {
  move_in();
  put("lost");
  put("lost too");
  fail_twice();
  drain();
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(kept().size(), 2U);
  EXPECT_FALSE(kept()[0].record.source_unsettled);
  // The transaction that wrote the row wrote the record.
  const auto same = person_->ask(
      "SELECT count(DISTINCT x) FROM (SELECT xmin::text AS x FROM dlo_outbox UNION ALL SELECT "
      "xmin::text FROM " +
          outbox::quoted(schema_->name() + "_office") + ".records) both_of_them",
      postgres::Params(), postgres::Plan::once);
  EXPECT_EQ(same.front().number(0), 1);
}

TEST_F(DyingRows, IfTheOfficeCannotMarkTheRowOneComesAfterTheOther) {
  move_in();
  put("lost");
  fail_twice();
  // Only whoever is called so may touch the table.
  run("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF current_setting('application_name') NOT LIKE 'dlo outbox%' THEN "
      "RAISE EXCEPTION 'not you'; END IF; RETURN NEW; END $$");
  run("CREATE TRIGGER guard BEFORE UPDATE ON dlo_outbox FOR EACH ROW EXECUTE FUNCTION refuse()");
  drain();
  expect_one_record();
}

}  // namespace
}  // namespace dlo::testing
