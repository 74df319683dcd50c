// A message of a RabbitMQ queue whose handler takes the whole server with it.
#include "scenario/handled_queue.h"

namespace dlo::testing {
namespace {

class AMessageKillsItsServer : public HandledQueue {
 protected:
  void prepare(const std::string& settings, const std::string& more = "") {
    configure(settings, more);
    const std::string path = data_.path() + "/handle";
    std::ofstream(path) << "#!/bin/sh\nbody=$(cat)\n"
                        << "echo \"${DLO_MESSAGE_ID:-none} $DLO_ATTEMPT\" >> " << data_.path()
                        << "/runs\n"
                        << "case \"$body\" in *killer*) kill -9 $PPID ;; esac\n";
  }
  /// Starts it again for as long as it dies; how often that was.
  int serve_until_it_lives(int most) {
    for (int deaths = 0; deaths < most; ++deaths) {
      serve();
      const std::size_t before = run_lines().size();
      EXPECT_TRUE(eventually([&] { return is_dead() || open() == 1; }, long_patience)) << source();
      if (!is_dead()) return deaths;
      EXPECT_EQ(server_->stop(0), -SIGKILL);
      EXPECT_GT(run_lines().size(), before) << "it died of something else";
    }
    return most;
  }
  [[nodiscard]] bool is_dead() const {
    std::ifstream in("/proc/" + std::to_string(server_->pid()) + "/stat");
    std::string text;
    std::getline(in, text);
    const auto end = text.rfind(')');
    return end == std::string::npos || text.substr(end + 2, 1) == "Z";
  }
  void expect_one_crash() {
    ASSERT_TRUE(eventually([&] { return open() == 1; }, long_patience)) << source();
    const std::string record = only_record();
    EXPECT_EQ(member(record, "status"), "quarantined") << record;
    EXPECT_EQ(member(record, "reason"), "crash") << record;
    ASSERT_TRUE(eventually([&] { return client_->ready(queue_) == 0; })) << "settled";
  }
};

TEST_F(AMessageKillsItsServer, AndIsADeadLetterAfterTheSecondTime) {  // R6, R7
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  prepare(", profile: booking+safe");
  for (int i = 0; i < 20; ++i) publish("good-" + std::to_string(i), "{\"data\":1}");
  publish("k-1", "{\"data\":\"killer\"}");
  for (int i = 20; i < 40; ++i) publish("good-" + std::to_string(i), "{\"data\":1}");
  EXPECT_EQ(serve_until_it_lives(5), 2) << "among others, then alone";
  expect_one_crash();
  ASSERT_TRUE(eventually([&] { return runs().size() == 41; }, long_patience)) << runs().size();
  EXPECT_EQ(runs()["k-1"], 2);
  EXPECT_EQ(number(only_record(), "attempt"), 2) << only_record();
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(AMessageKillsItsServer, FromAQuorumQueueToo) {
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  client_->remove(queue_);
  const std::string name = "x-queue-type";
  const std::string quorum = "quorum";
  amqp_table_entry_t kind{RabbitClient::bytes(name), {}};
  kind.value.kind = AMQP_FIELD_KIND_UTF8;
  kind.value.value.bytes = RabbitClient::bytes(quorum);
  client_->declare(queue_, {1, &kind});
  prepare(", profile: booking");
  publish("k-1", "{\"data\":\"killer\"}");
  EXPECT_EQ(serve_until_it_lives(5), 2);
  expect_one_crash();
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(AMessageKillsItsServer, WithoutAnIdItTakesOneMore) {  // nobody can tell that it ran alone
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  prepare(", profile: booking");
  publish("", "{\"data\":\"killer\"}");
  EXPECT_EQ(serve_until_it_lives(6), 3);
  expect_one_crash();
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(AMessageKillsItsServer, WhileItWaitsInTheOfficeToo) {
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  prepare(", profile: quick", "profiles: {quick: {base: booking+safe, retry: fixed base=100ms}}\n");
  const std::string path = data_.path() + "/handle";
  std::ofstream(path) << "#!/bin/sh\ncat >/dev/null\necho \"$DLO_MESSAGE_ID $DLO_ATTEMPT\" >> "
                      << data_.path() << "/runs\ntest \"$DLO_ATTEMPT\" = 1 && exit 1\n"
                      << "kill -9 $PPID\n";
  publish("k-1", "{\"data\":1}");
  EXPECT_LE(serve_until_it_lives(6), 2);
  ASSERT_TRUE(eventually([&] { return open() == 1; }, long_patience)) << source();
  EXPECT_LE(runs()["k-1"], 3) << "no more than its limit";
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
