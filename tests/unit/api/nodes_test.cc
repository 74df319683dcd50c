// Several servers on one office: what one of them learns of what the others wrote.

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "support/eventually.h"
#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/store/fenced_office.h"

namespace dlo::api {
namespace {

using testing::eventually;
using testing::must;

/// A service without sockets.
struct Server {
  Server(Office& office, const Clock& clock, ServiceOptions options, OwnQueues* queues)
      : service(office, queues, clock, std::move(options)) {}
  Told ask(const std::string& method, const std::string& target, std::string body = "",
           std::vector<HttpHeader> headers = {}) {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    request.headers = std::move(headers);
    if (!request.body.empty()) request.headers.push_back({"Content-Type", "application/json"});
    const auto asked = std::make_shared<Asked>();
    asked->asks(request);
    service.handle(std::move(request), asked);
    return {asked->answer()};
  }
  Service service;
};

class ServersOnOneOffice : public ::testing::Test {
 protected:
  Server& join(const std::string& name) {
    ServiceOptions options;
    options.node = [name] { return NodeStatus{name, false, "ann"}; };
    options.retries.executors = std::make_shared<Executors>("llamaindex");
    HandlerOptions guarded;
    guarded.breaker = BreakerPolicy{};
    options.retries.executors->set(
        "llamaindex", std::make_shared<FunctionHandler>([this](const Message&, const RunContext&) {
          runs.fetch_add(1);
          return Outcome{};
        }),
        guarded);
    places.push_back(std::make_unique<testing::TemporaryDirectory>());
    queues.push_back(must(EmbeddedQueues::open(places.back()->path(), clock.now())));
    servers.push_back(
        std::make_unique<Server>(office, clock, std::move(options), queues.back().get()));
    return *servers.back();
  }
  std::uint64_t term() {
    const Change taken = PutDocument{leader_kind, leader_key, "ann", std::nullopt};
    return must(office.apply({&taken, 1})).front().version;
  }
  std::string report(Server& at, const std::string& members) {
    const Told told = at.ask("POST", "/v1/dead-letters",
                             R"({"source":"workflows","profile":"workflow+safe",)" + members + "}");
    EXPECT_EQ(told.status(), 201) << told;
    return told.at("id");
  }
  void TearDown() override { servers.clear(); }

  MemoryOffice office;
  ManualClock clock{testing::noon};
  std::atomic<int> runs{0};
  std::vector<std::unique_ptr<testing::TemporaryDirectory>> places;
  std::vector<std::unique_ptr<EmbeddedQueues>> queues;
  std::vector<std::unique_ptr<Server>> servers;
};

TEST_F(ServersOnOneOffice, EachSaysWhoItIsAndWhoLeads) {
  Server& bob = join("bob");
  for (const char* path : {"/healthz", "/readyz"}) {
    const Told told = bob.ask("GET", path);
    EXPECT_EQ(told.at("status"), "ok");
    EXPECT_EQ(told.at("node"), "bob");
    EXPECT_EQ(told.at("leads"), "false");
    EXPECT_EQ(told.at("leader"), "ann");
  }
}

TEST_F(ServersOnOneOffice, AJobStartedAtOneIsDoneByTheOneThatLeadsAndByNobodyElse) {
  Server& ann = join("ann");
  Server& bob = join("bob");
  ann.service.lead(term());
  (void)ann.ask("POST", "/v1/dead-letters", R"({"source":"orders","error":"timed out"})");
  const Told job =
      bob.ask("POST", "/v1/jobs", R"({"act":"archive","query":"source:orders","start":true})");
  ASSERT_EQ(job.status(), 201) << job;
  const auto state = [&] { return bob.ask("GET", "/v1/jobs/" + job.at("job.id")).at("job.state"); };
  ann.service.yield();
  bob.service.look_at_others();
  EXPECT_NE(state(), "done") << "nobody leads";
  bob.service.lead(term());
  EXPECT_TRUE(eventually([&] { return state() == "done"; }));
}

TEST_F(ServersOnOneOffice, TheOneThatLeadsIsToldOfAJobByItsLook) {
  Server& ann = join("ann");
  Server& bob = join("bob");
  ann.service.lead(term());
  (void)ann.ask("POST", "/v1/dead-letters", R"({"source":"orders","error":"timed out"})");
  const Told job =
      bob.ask("POST", "/v1/jobs", R"({"act":"archive","query":"source:orders","start":true})");
  EXPECT_TRUE(eventually([&] {
    ann.service.look_at_others();
    return bob.ask("GET", "/v1/jobs/" + job.at("job.id")).at("job.state") == "done";
  }));
}

TEST_F(ServersOnOneOffice, WhoseTermIsOverDoesNoJobAnyMore) {
  Server& ann = join("ann");
  Server& bob = join("bob");
  ann.service.lead(term());
  (void)ann.ask("POST", "/v1/dead-letters", R"({"source":"orders","error":"timed out"})");
  (void)term();  // somebody else leads by now, and ann has not heard of it
  const Told job =
      ann.ask("POST", "/v1/jobs", R"({"act":"archive","query":"source:orders","start":true})");
  ann.service.look_at_others();
  ann.service.yield();  // what it was at is over: it has tried, and written nothing
  const Told shown = bob.ask("GET", "/v1/jobs/" + job.at("job.id"));
  EXPECT_EQ(shown.at("job.state"), "running") << shown;
  EXPECT_EQ(shown.at("progress.ok"), "0") << shown;
}

TEST_F(ServersOnOneOffice, ATaskReportedAtOneIsRunAtItsMomentByAnother) {
  Server& ann = join("ann");
  ServiceOptions only_reports;
  only_reports.node = [] { return NodeStatus{"bob", false, ""}; };
  Server bob(office, clock, only_reports, nullptr);
  report(ann, R"("task_id":"t0","error":"timeout","policy":"immediate","max_retries":3)");
  ASSERT_TRUE(eventually([&] { return runs.load() == 1; })) << "then it sleeps until it is told";
  report(bob, R"("task_id":"t1","error":"timeout","policy":"fixed base=0s","max_retries":3)");
  clock.advance(std::chrono::hours{1});
  EXPECT_TRUE(eventually([&] {
    ann.service.look_at_others();
    return runs.load() == 2;
  }));
}

TEST_F(ServersOnOneOffice, ATokenThatIsRevokedAtOneIsRefusedByAnotherAfterItsLook) {
  Server& ann = join("ann");
  Server& bob = join("bob");
  const Told boss = ann.ask("POST", "/v1/tokens", R"({"name":"boss","role":"admin"})");
  const std::vector<HttpHeader> by_boss{{"Authorization", "Bearer " + boss.at("secret")}};
  const Told guest = ann.ask("POST", "/v1/tokens", R"({"name":"guest","role":"reader"})", by_boss);
  ASSERT_EQ(guest.status(), 201) << guest;
  const std::vector<HttpHeader> by_guest{{"Authorization", "Bearer " + guest.at("secret")}};
  bob.service.look_at_others();
  EXPECT_EQ(bob.ask("GET", "/v1/stats", "", by_guest).status(), 200);
  ASSERT_EQ(ann.ask("DELETE", "/v1/tokens/" + guest.at("token.id"), "", by_boss).status(), 200);
  bob.service.look_at_others();
  EXPECT_EQ(bob.ask("GET", "/v1/stats", "", by_guest).status(), 401);
}

TEST_F(ServersOnOneOffice, AQueueThatIsDeclaredAtOneIsThereAtAnother) {
  Server& ann = join("ann");
  Server& bob = join("bob");
  ASSERT_EQ(ann.ask("PUT", "/v1/queues/orders", R"({"profile":"standard"})").status(), 201);
  EXPECT_EQ(bob.ask("GET", "/v1/queues/orders").status(), 404);
  bob.service.look_at_others();
  EXPECT_EQ(bob.ask("GET", "/v1/queues/orders").at("profile"), "standard");
  ASSERT_EQ(ann.ask("PUT", "/v1/queues/orders", R"({"profile":"workflow"})").status(), 200);
  bob.service.look_at_others();
  EXPECT_EQ(bob.ask("GET", "/v1/queues/orders").at("profile"), "workflow");
}

TEST_F(ServersOnOneOffice, ACircuitThatIsOpenedByHandAtOneIsOpenAtAllUntilAHandClosesIt) {
  Server& ann = join("ann");
  Server& bob = join("bob");
  const auto state = [](Server& at) { return at.ask("GET", "/v1/retries").at("circuits.0.state"); };
  ASSERT_EQ(ann.ask("POST", "/v1/retries/circuits/llamaindex/open").status(), 200);
  bob.service.look_at_others();
  EXPECT_EQ(state(bob), "open");
  EXPECT_EQ(state(join("cid")), "open") << "whoever joins later knows it too";
  ASSERT_EQ(bob.ask("POST", "/v1/retries/circuits/llamaindex/close").status(), 200);
  ann.service.look_at_others();
  EXPECT_EQ(state(ann), "closed");
}

TEST_F(ServersOnOneOffice, ATaskWaitsForOneThatEndsElsewhere) {
  Server& ann = join("ann");
  Server& bob = join("bob");
  ASSERT_EQ(ann.ask("POST", "/v1/retries/circuits/llamaindex/open").status(), 200);
  bob.service.look_at_others();  // nothing runs by itself
  const std::string first =
      report(ann, R"("task_id":"first","error":"e","policy":"immediate","max_retries":3)");
  const std::string second = report(
      ann,
      R"("task_id":"second","error":"e","policy":"immediate","max_retries":3,"depends_on":["first"])");
  const auto reason = [&] { return bob.ask("GET", "/v1/dead-letters/" + second).at("reason"); };
  const std::string waits = reason();
  ASSERT_EQ(
      bob.ask("POST", "/v1/dead-letters/" + first + "/resolve", R"({"how":"by hand"})").status(),
      200);
  EXPECT_EQ(reason(), waits) << "bob has not heard that anybody waits";
  ann.service.lead(term());
  ann.service.look_at_others();
  EXPECT_NE(reason(), waits) << "the leader lets it go";
}

}  // namespace
}  // namespace dlo::api
