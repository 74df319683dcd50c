#include <filesystem>
#include <gtest/gtest.h>
#include <signal.h>
#include <string>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

namespace fs = std::filesystem;

const std::string json = "Content-Type: application/json\r\n";
const std::string nothing = "{\"messages\":[]}\n";

/// A server whose queue "orders" holds the keys of what dies, and a worker who comes to it.
class Orders {
 public:
  explicit Orders(const std::string& place)
      : server_({"serve", "--data", place, "--listen", "127.0.0.1:0"}),
        client_(port_in(server_.read_until("/healthz"))) {}

  void declare() {
    EXPECT_EQ(
        client_
            .ask("PUT", "/v1/queues/orders", R"({"profile":"service-bus","on_death":"hold"})", json)
            .status,
        201);
  }
  void send(const std::string& id, const std::string& key) {
    EXPECT_EQ(client_.ask("POST", "/v1/queues/orders/messages?id=" + id + "&key=" + key, id).status,
              201);
  }
  std::string receive(const std::string& wait = "0") {
    return client_.ask("POST", "/v1/queues/orders/receive?wait_ms=" + wait).body;
  }
  std::string settle(const std::string& received, const std::string& how) {
    return client_
        .ask("POST", "/v1/queues/orders/settle",
             R"({"lease":")" + member(received, "lease") + "\"," + how + "}", json)
        .body;
  }
  /// It fails for good; its dead letter.
  std::string die(const std::string& received) {
    return member(settle(received, R"("outcome":"dead_letter","reason":"Bad")"), "dead_letter");
  }
  std::string show(const std::string& dead) {
    return client_.ask("GET", "/v1/dead-letters/" + dead).body;
  }
  int resolve(const std::string& dead) {
    return client_.ask("POST", "/v1/dead-letters/" + dead + "/resolve", "{}", json).status;
  }
  int replay() {
    return client_
        .ask("POST", "/v1/jobs",
             R"({"act":"replay","query":"source:orders status:open","start":true})", json)
        .status;
  }
  int number_of(const std::string& name) {
    return number(client_.ask("GET", "/v1/queues/orders").body, name);
  }
  void kill() { EXPECT_EQ(server_.stop(SIGKILL), -SIGKILL); }

 private:
  Running server_;
  HttpClient client_;
};

class ADeathHoldsItsKey : public ::testing::Test {
 protected:
  /// "1" of ann is in a worker's hands, "2" of ann waits behind it.
  std::string prepare(Orders& orders) {
    orders.declare();
    orders.send("1", "ann");
    orders.send("2", "ann");
    const std::string first = orders.receive();
    EXPECT_EQ(member(first, "payload"), "1") << first;
    return first;
  }
  const TemporaryDirectory place_;
};

// The office has the record, and the server is killed before its queue is told. The queue is set
// back to that moment, so that it is certain which one it was.
TEST_F(ADeathHoldsItsKey, ThoughTheServerDiesBetweenTheRecordAndTheQueue) {
  const std::string queues = place_.path() + "/queues";
  const std::string before = place_.path() + "/before";
  std::string dead;
  {
    Orders orders(place_.path());
    const std::string first = prepare(orders);
    orders.send("3", "bob");
    fs::copy(queues, before, fs::copy_options::recursive);
    dead = orders.die(first);
    orders.kill();
  }
  fs::remove_all(queues);
  fs::rename(before, queues);
  Orders orders(place_.path());
  EXPECT_EQ(orders.number_of("dead_lettered"), 0) << "the queue has not heard of it";
  const std::string other = orders.receive("10000");
  EXPECT_EQ(member(other, "payload"), "3") << other;
  EXPECT_EQ(orders.receive("1000"), nothing) << "ann's second waits";
  EXPECT_EQ(orders.number_of("dead_lettered"), 1);
  EXPECT_EQ(number(orders.show(dead), "occurrence"), 1) << "the same death";
  EXPECT_EQ(number(orders.show(dead), "waiting"), 1);
  EXPECT_LT(orders.resolve(dead), 300);
  const std::string next = orders.receive("10000");
  EXPECT_EQ(member(next, "payload"), "2") << next;
}

TEST_F(ADeathHoldsItsKey, AndIsLetGoThoughTheServerDiesBetweenTheResolutionAndTheQueue) {
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    const TemporaryDirectory place;
    std::string dead;
    {
      Orders orders(place.path());
      dead = orders.die(prepare(orders));
      EXPECT_EQ(orders.receive("500"), nothing);
      EXPECT_LT(orders.resolve(dead), 300);
      orders.kill();  // at once: before anybody looked at what ended
    }
    Orders orders(place.path());
    const std::string next = orders.receive("10000");
    EXPECT_EQ(member(next, "payload"), "2") << next;
  }
}

TEST_F(ADeathHoldsItsKey, AndIsLetGoIfSomebodyClosesItWhileNoServerRuns) {
  std::string dead;
  {
    Orders orders(place_.path());
    dead = orders.die(prepare(orders));
    const Ended shown = run_dlo({"show", dead, "--data", place_.path()});  // asks the server
    EXPECT_NE(shown.out.find("1 wait behind it"), std::string::npos) << shown.out << shown.err;
    orders.kill();
  }
  const Ended closed = run_dlo({"resolve", dead, "--yes", "--data", place_.path()});
  EXPECT_EQ(closed.code, 0) << closed.err;
  Orders orders(place_.path());
  const std::string next = orders.receive("10000");
  EXPECT_EQ(member(next, "payload"), "2") << next;
}

TEST_F(ADeathHoldsItsKey, UntilItsReplayIsCured) {
  Orders orders(place_.path());
  const std::string dead = orders.die(prepare(orders));
  for (const bool cured : {false, true}) {
    SCOPED_TRACE(cured);
    EXPECT_EQ(orders.replay(), 201);
    const std::string again = orders.receive("20000");
    ASSERT_EQ(member(again, "payload"), "1") << again;
    EXPECT_EQ(orders.receive("500"), nothing);
    if (!cured) {
      EXPECT_EQ(orders.die(again), dead);
      EXPECT_EQ(orders.receive("500"), nothing);
      EXPECT_EQ(number(orders.show(dead), "waiting"), 1);
    } else {
      EXPECT_NE(orders.settle(again, R"("outcome":"complete")").find("completed"),
                std::string::npos);
    }
  }
  const std::string next = orders.receive("10000");
  EXPECT_EQ(member(next, "payload"), "2") << next;
  EXPECT_EQ(member(orders.show(dead), "status"), "resolved");
}

}  // namespace
}  // namespace dlo::testing
