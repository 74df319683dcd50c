#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>

#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/api/event_feed.h"
#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/server/http_server.h"

namespace dlo::api {
namespace {

using testing::eventually;
using testing::must;

class EventsTest : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  std::shared_ptr<Asked> listen(const std::string& query = "", Headers headers = {}) {
    auto asked = begin("GET", "/v1/events" + query, "", std::move(headers));
    EXPECT_TRUE(hears(*asked, "event: re"));  // ready or reset
    return asked;
  }
  /// Time passes until it has been told.
  bool hears(Asked& asked, const std::string& text) {
    return eventually([&] {
      clock_.advance(options_.events.look);
      return asked.so_far().find(text) != std::string::npos;
    });
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
  static std::string last_id(const std::string& text) {
    const auto at = text.rfind("id: ") + 4;
    return text.substr(at, text.find('\n', at) - at);
  }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(EventsTest, TellsOfDeadLettersAndOfActsOnGroupsJobsAndQueues) {
  const std::string before = dead(R"("id":"before")");
  const auto asked = listen();
  const std::string id = dead(R"("id":"m-1")");
  ASSERT_TRUE(hears(*asked, "event: dead_letter\ndata: {\"id\":\"" + id)) << asked->so_far();
  EXPECT_EQ(asked->so_far().find(before), std::string::npos) << "it begins now";
  say("POST", "/v1/dead-letters/" + id + "/archive", "{}");
  EXPECT_TRUE(hears(*asked, "\"status\":\"archived\"")) << asked->so_far();
  EXPECT_TRUE(hears(*asked, "event: act\ndata: ")) << asked->so_far();
  say("PUT", "/v1/queues/orders", "{}");
  EXPECT_TRUE(hears(*asked, "\"queue\":\"orders\"")) << asked->so_far();
  const Told job = say("POST", "/v1/jobs", R"({"act":"resolve","query":"status:open"})");
  EXPECT_TRUE(hears(*asked, "\"job\":\"" + job.at("job.id"))) << asked->so_far();
  const std::string group = get("/v1/groups").at("groups.0.id");
  say("PATCH", "/v1/groups/" + group, R"({"owner":"ana"})");
  EXPECT_TRUE(hears(*asked, "event: group\ndata: ")) << asked->so_far();
  service_->stop_waiting();
  EXPECT_EQ(asked->answer().content_type, "text/event-stream");
}

TEST_F(EventsTest, ATaskWhoseRetriesAreUsedUpIsToldOfWhenThatHappens) {  // S2-53
  const auto asked = listen("?types=dead_letter");
  const Told kept = say("POST", "/v1/dead-letters",
                        R"({"source":"workflows","profile":"workflow","task":{},"task_id":"wf_1",)"
                        R"("error":"timeout","max_retries":0})");
  ASSERT_TRUE(hears(*asked, "\"id\":\"" + kept.at("id"))) << asked->so_far();
  EXPECT_TRUE(hears(*asked, "\"status\":\"exhausted\"")) << asked->so_far();
}

TEST_F(EventsTest, ADeathIsToldOnceThoughTheAuditTrailHasItToo) {
  const auto asked = listen();
  dead(R"("id":"m-1")");
  say("PUT", "/v1/queues/orders", "{}");
  ASSERT_TRUE(hears(*asked, "\"queue\":\"orders\"")) << asked->so_far();
  EXPECT_EQ(count(asked->so_far(), "event: dead_letter"), 1U) << asked->so_far();
  EXPECT_EQ(count(asked->so_far(), "\"act\":\"die\""), 0U) << asked->so_far();
}

TEST_F(EventsTest, TellsOfDeadLettersThatAreRemovedForGood) {
  options_.discard_grace = std::chrono::hours{1};
  const std::string id = dead(R"("id":"gone")");
  const auto asked = listen("?types=removed&source=payments");
  const auto other = listen("?types=removed&source=orders");
  const std::string group = get("/v1/groups").at("groups.0.id");
  EXPECT_EQ(say("POST", "/v1/dead-letters/" + id + "/discard", "{}").status(), 200);
  clock_.advance(std::chrono::hours{1});
  ASSERT_TRUE(hears(*asked, "event: removed\ndata: {\"id\":\"" + id)) << asked->so_far();
  EXPECT_NE(asked->so_far().find(group), std::string::npos) << asked->so_far();
  EXPECT_EQ(get("/v1/dead-letters/" + id).status(), 404);
  EXPECT_EQ(other->so_far().find(id), std::string::npos) << "it is of another source";
}

TEST_F(EventsTest, AJobIsToldOfByWhatItWritesNotByItem) {
  constexpr int many = 450;
  for (int i = 0; i < many; ++i) dead("\"id\":\"m-" + std::to_string(i) + "\"");
  const auto asked = listen("?types=job");
  const Told job =
      say("POST", "/v1/jobs", R"({"act":"archive","query":"status:open","start":true})");
  ASSERT_TRUE(hears(*asked, "\"act\":\"job.done\"")) << asked->so_far();
  EXPECT_EQ(get("/v1/jobs/" + job.at("job.id")).at("progress.ok"), std::to_string(many));
  // Planned, started, three writes of at most 200, done.
  EXPECT_LE(count(asked->so_far(), "event: job"), 6U) << asked->so_far();
  EXPECT_LT(asked->so_far().size(), 4'000U) << "and none of them names its items";
}

TEST_F(EventsTest, GoesOnAfterTheLastEventIdAlsoWhenTheServerWasRestarted) {
  const auto first = listen();
  dead(R"("id":"heard")");
  ASSERT_TRUE(hears(*first, "\"message_id\":\"heard\""));
  const std::string id = last_id(first->so_far());
  service_.reset();
  must(queues_->close());
  queues_.reset();
  start();
  for (int i = 0; i < 250; ++i) dead("\"id\":\"missed-" + std::to_string(i) + "\"");
  const auto second = listen("", {{"Last-Event-ID", id}});
  ASSERT_TRUE(hears(*second, "\"message_id\":\"missed-249\"")) << second->so_far().size();
  EXPECT_EQ(count(second->so_far(), "event: dead_letter"), 250U);
  EXPECT_EQ(second->so_far().find("heard"), std::string::npos);
  const auto third = listen("?after=" + id);
  EXPECT_TRUE(hears(*third, "\"message_id\":\"missed-249\""));
}

TEST_F(EventsTest, APlaceThisOfficeHasNeverReachedIsReset) {
  dead();
  const auto asked = listen("?after=999999-0");
  EXPECT_TRUE(hears(*asked, "event: reset")) << asked->so_far();
  dead(R"("id":"next")");
  EXPECT_TRUE(hears(*asked, "\"message_id\":\"next\""));
}

TEST_F(EventsTest, AFilterLeavesAwayWhatWasNotAskedFor) {
  const auto dead_letters = listen("?types=dead_letter&source=other");
  const auto queues = listen("?types=queue,job");
  dead(R"("id":"not mine")");
  say("PUT", "/v1/queues/orders", "{}");
  say("POST", "/v1/dead-letters", R"({"source":"other","id":"mine","error":"x"})");
  ASSERT_TRUE(hears(*dead_letters, "\"message_id\":\"mine\""));
  ASSERT_TRUE(hears(*queues, "\"queue\":\"orders\""));
  EXPECT_EQ(count(dead_letters->so_far(), "event: "), 2U) << dead_letters->so_far();
  EXPECT_EQ(count(queues->so_far(), "event: "), 2U) << queues->so_far();
  const std::string group = get("/v1/dead-letters?q=source:other").at("dead_letters.0.group");
  const auto of_group = listen("?group=" + group + "&after=0-0");
  EXPECT_TRUE(hears(*of_group, "\"message_id\":\"mine\"")) << of_group->so_far();
  EXPECT_EQ(get("/v1/events?types=jobs").status(), 400);
  EXPECT_TRUE(get("/v1/events?types=jobs").says("job, queue"));
  EXPECT_EQ(get("/v1/events?group=7").status(), 400);
  EXPECT_EQ(get("/v1/events?after=7").status(), 400);
}

TEST_F(EventsTest, SilenceIsBrokenByASignOfLifeThatRemembersThePlace) {
  const auto asked = listen("?types=job");
  dead();
  EXPECT_FALSE(asked->so_far().find("still here") != std::string::npos);
  clock_.advance(options_.events.heartbeat);
  ASSERT_TRUE(hears(*asked, ": still here\nid: ")) << asked->so_far();
  EXPECT_NE(last_id(asked->so_far()), "0-0") << "what was left away is not told again";
}

TEST_F(EventsTest, OnlySoManyMayListenAndWhoLeftMakesRoom) {
  options_.events.most_readers = 1;
  const auto first = listen();
  const Told second = get("/v1/events");
  EXPECT_EQ(second.status(), 503) << second;
  first->leave();
  std::shared_ptr<Asked> third;
  EXPECT_TRUE(eventually([&] {
    clock_.advance(options_.events.look);
    third = begin("GET", "/v1/events");
    return eventually([&] { return third->answered() || !third->so_far().empty(); }) &&
           !third->answered();
  }));
}

TEST_F(EventsTest, AStreamEndsWithItsTokenBeforeItTellsAnythingMore) {
  const auto make = [this](const std::string& members, const Headers& by) {
    return say("POST", "/v1/tokens", "{" + members + "}", by);
  };
  const auto with = [](const Told& made) {
    return Headers{{"Authorization", "Bearer " + made.at("secret")}};
  };
  const auto stranger = listen();
  const Headers root = with(make(R"("name":"root","role":"admin")", {}));
  const auto ends = [this](Asked& asked) {
    return eventually([&] {
      clock_.advance(options_.events.look);
      return asked.answered();
    });
  };
  EXPECT_TRUE(ends(*stranger)) << "the first token closes the server";
  const Told ear = make(R"("name":"ear")", root);
  const Told brief = make(R"("name":"brief","expires_in":"10m")", root);
  const auto revoked = listen("", with(ear));
  const auto expired = listen("", with(brief));
  const auto kept = listen("", root);
  const std::string id = ear.at("token.id");
  EXPECT_EQ(ask("DELETE", "/v1/tokens/" + id, "", root).status(), 200);
  const Told death =
      say("POST", "/v1/dead-letters", R"({"source":"payments","id":"late","error":"x"})", root);
  ASSERT_TRUE(hears(*kept, death.at("id")));
  EXPECT_TRUE(ends(*revoked));
  EXPECT_EQ(revoked->so_far().find(death.at("id")), std::string::npos) << revoked->so_far();
  EXPECT_FALSE(expired->answered());
  clock_.advance(std::chrono::minutes{10});
  EXPECT_TRUE(ends(*expired));
  EXPECT_FALSE(kept->answered());
}

TEST_F(EventsTest, AStopEndsAllStreamsAndHeadNeedsNone) {
  EXPECT_EQ(ask("HEAD", "/v1/events").status(), 200);
  const auto asked = listen();
  service_->stop_waiting();
  EXPECT_EQ(asked->answer().status, 200);
  EXPECT_EQ(get("/v1/events").status(), 503);
}

/// A client that reads nothing until it is told to.
class Stuck final : public HttpExchange {
 public:
  void send(HttpResponse) override {}
  void begin(HttpResponse) override {}
  Room write(std::string_view piece) override {
    const std::lock_guard lock(mutex_);
    pieces_.emplace_back(piece);
    return Room::full;
  }
  void when_room(std::function<void(bool)> then) override {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(then);
  }
  void end() override {}
  [[nodiscard]] bool gone() const noexcept override { return false; }
  std::size_t pieces() {
    const std::lock_guard lock(mutex_);
    return pieces_.size();
  }
  void read() { waiting_(true); }

 private:
  std::mutex mutex_;
  std::vector<std::string> pieces_;
  std::function<void(bool)> waiting_;
};

TEST_F(EventsTest, NothingIsPiledUpForSomebodyWhoDoesNotRead) {
  const auto other = listen();
  const auto stuck = std::make_shared<Stuck>();
  HttpRequest request;
  request.method = "GET";
  request.target = "/v1/events";
  service_->handle(request, stuck);
  ASSERT_TRUE(eventually([&] { return stuck->pieces() == 1; }));
  for (const char* id : {"a", "b", "c"}) {
    dead("\"id\":\"" + std::string(id) + "\"");
    ASSERT_TRUE(hears(*other, "\"message_id\":\"" + std::string(id)));
  }
  EXPECT_EQ(stuck->pieces(), 1U);
  stuck->read();
  EXPECT_TRUE(eventually([&] {
    clock_.advance(options_.events.look);
    return stuck->pieces() == 2;
  }));
}

TEST(EventPlaceTest, IsReadExactlyAsItIsWritten) {
  EXPECT_EQ(parse_event_place("120-45"), (EventPlace{120, 45}));
  EXPECT_EQ(to_string(EventPlace{120, 45}), "120-45");
  for (const char* wrong :
       {"", "1", "1-", "-1", "1-2x", "1--2", " 1-2", "99999999999999999999-1"}) {
    EXPECT_FALSE(parse_event_place(wrong)) << wrong;
  }
}

/// Through a real socket, with real time.
class EventStream : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.events.look = Millis{5};
    service_ = std::make_unique<Service>(office_, nullptr, clock_, options_);
    server_ = must(HttpServer::listen({}, [this](HttpRequest request, ExchangePtr exchange) {
      service_->handle(std::move(request), std::move(exchange));
    }));
    thread_ = std::thread([this] { server_->run(); });
  }
  void TearDown() override {
    service_->stop_waiting();
    server_->stop(Millis{0});
    thread_.join();
    service_.reset();
  }
  void report(testing::HttpClient& client, int number) {
    const auto answer = client.ask("POST", "/v1/dead-letters",
                                   R"({"source":"s","id":"n-)" + std::to_string(number) +
                                       R"(","error":")" + std::string(2'000, 'e') + "\"}",
                                   "Content-Type: application/json\r\n");
    ASSERT_EQ(answer.status, 201) << answer.body;
  }

  MemoryOffice office_;
  SystemClock clock_;
  ServiceOptions options_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(EventStream, WhoDoesNotReadHoldsUpNobodyAndMissesNothing) {
  constexpr int many = 1'200;  // far more than sockets and server keep for one client
  const std::string listen = "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n";
  testing::HttpClient slow(server_->port(), 4'096);
  testing::HttpClient quick(server_->port());
  slow.send(listen);
  quick.send(listen);
  slow.read_until("event: ready");
  quick.read_until("event: ready");
  testing::HttpClient reporter(server_->port());
  for (int i = 0; i < many; ++i) report(reporter, i);
  const std::string heard = quick.read_until("\"message_id\":\"n-1199\"");
  EXPECT_NE(heard.find("\"message_id\":\"n-1199\""), std::string::npos);
  const std::string late = slow.read_until("\"message_id\":\"n-1199\"");
  for (int i = 0; i < many; ++i) {
    EXPECT_NE(late.find("\"message_id\":\"n-" + std::to_string(i) + "\""), std::string::npos) << i;
  }
}

}  // namespace
}  // namespace dlo::api
