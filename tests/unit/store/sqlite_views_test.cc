#include "unit/store/sqlite_support.h"

namespace dlo::testing {
namespace {

DeadLetter owned(std::uint64_t n, std::optional<Activity> activity) {
  DeadLetter record = letter(n);
  Message message = *record.message;
  message.owner = Owner{"instance-" + std::to_string(n), 4, std::move(activity), ""};
  message.enqueued_at = noon - Millis{1500};
  record.message = std::make_shared<Message>(std::move(message));
  record.counters.abandon = 5;
  return record;
}

class SqliteViews : public ::testing::Test {
 protected:
  [[nodiscard]] std::string ask_office(const std::string& sql) const {
    return ask(directory_.path() + "/office.db", sql);
  }
  TemporaryDirectory directory_;
  std::unique_ptr<SqliteOffice> office_ = open_office(directory_.path());
};

// S3-16, S3-17
TEST_F(SqliteViews, HaveExactlyTheColumnsOfThePoisonTables) {
  EXPECT_EQ(ask_office("SELECT group_concat(name) FROM "
                       "pragma_table_info('poison_orchestrator_queue')"),
            "id,instance_id,work_item,abandon_count,last_error,poisoned_at,original_created_at");
  EXPECT_EQ(
      ask_office("SELECT group_concat(name) FROM pragma_table_info('poison_worker_queue')"),
      "id,instance_id,execution_id,activity_id,activity_name,work_item,abandon_count,last_error,"
      "poisoned_at,original_created_at");
}

TEST_F(SqliteViews, ShowOwnedOpenRecordsByKind) {
  must_apply(*office_, {append_of(owned(1, std::nullopt)), append_of(owned(2, Activity{"pay", 9})),
                        append_of(letter(3))});
  EXPECT_EQ(ask_office("SELECT * FROM poison_orchestrator_queue"),
            "1,instance-1,{\"order\":1},5,timed out (1),2026-03-01T12:00:00.001Z,"
            "2026-03-01T11:59:58.500Z");
  EXPECT_EQ(ask_office("SELECT * FROM poison_worker_queue"),
            "2,instance-2,4,9,pay,{\"order\":2},5,timed out (2),2026-03-01T12:00:00.002Z,"
            "2026-03-01T11:59:58.500Z");
  Transition close;
  close.id = letter(1).id;
  close.to = Status::resolved;
  must_apply(*office_, {close});
  EXPECT_EQ(ask_office("SELECT count(*) FROM poison_orchestrator_queue"), "0");
}

// What somebody removed, or sent back, is nobody's to deal with.
TEST_F(SqliteViews, LeaveOutWhatWasRemovedOrSentBack) {
  struct Way {
    std::uint64_t n;
    std::vector<Status> through;
  };
  const std::vector<Way> ways = {{1, {Status::discarding}},
                                 {2, {Status::discarding, Status::discarded}},
                                 {3, {Status::archived}},
                                 {4, {Status::replaying}},
                                 {5, {Status::replaying, Status::replayed}}};
  for (const auto& [n, through] : ways) {
    for (const std::optional<Activity>& activity :
         {std::optional<Activity>(), std::optional(Activity{"pay", n})}) {
      const std::uint64_t number = activity ? n + 100 : n;
      const std::string view = activity ? "poison_worker_queue" : "poison_orchestrator_queue";
      must_apply(*office_, {append_of(owned(number, activity))});
      const std::string count = "SELECT count(*) FROM " + view + " WHERE instance_id = 'instance-" +
                                std::to_string(number) + "'";
      EXPECT_EQ(ask_office(count), "1") << view;
      for (const Status to : through) {
        Transition move;
        move.id = letter(number).id;
        move.to = to;
        move.now = noon;
        if (to == Status::replaying) move.lease_for = Millis{1'000};
        must_apply(*office_, {move});
        EXPECT_EQ(ask_office(count), "0") << view << " shows one that is " << name_of(to);
      }
    }
  }
}

TEST_F(SqliteViews, AnItemWithoutErrorHasNoLastError) {
  DeadLetter record = owned(1, std::nullopt);
  record.failure = {};
  must_apply(*office_, {append_of(record)});
  EXPECT_EQ(ask_office("SELECT last_error IS NULL FROM poison_orchestrator_queue"), "1");
}

}  // namespace
}  // namespace dlo::testing
