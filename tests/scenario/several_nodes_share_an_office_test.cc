#include "scenario/nodes_on_one_office.h"

namespace dlo::testing {
namespace {

// Whichever is asked, it is the same office: what was reported to one is found, worked on and heard
// of through the others.
TEST_F(NodesOnOneOffice, AllAnswerAndOneLeads) {
  start_all();
  const std::size_t first = wait_for_leader();
  const std::size_t second = other_than(first);
  const std::size_t third = other_than(second);
  EXPECT_TRUE(eventually([&] { return member(get(second, "/readyz"), "leader") == name(first); }));
  EXPECT_EQ(member(get(second, "/healthz"), "node"), name(second));
  const Ended doctor =
      run_dlo({"doctor", "--server", "http://127.0.0.1:" + std::to_string(ports_[third].load())});
  EXPECT_NE(doctor.out.find(name(third) + " answers; " + name(first) + " leads"), std::string::npos)
      << doctor.out;

  HttpClient events(ports_[third].load());
  events.send("GET /v1/events?types=dead_letter HTTP/1.1\r\nHost: x\r\n\r\n");
  (void)events.read_until("event: ready");
  const auto reported = ask(second, "POST", "/v1/dead-letters",
                            R"({"source":"payments","id":"p1","error":"card expired"})");
  ASSERT_TRUE(reported && reported->status == 201);
  EXPECT_NE(events.read_until("card expired").find("card expired"), std::string::npos);
  EXPECT_NE(get(third, "/v1/dead-letters").find("card expired"), std::string::npos);

  const auto job =
      ask(third, "POST", "/v1/jobs", R"({"act":"archive","query":"source:payments","start":true})");
  ASSERT_TRUE(job && job->status == 201) << (job ? job->body : "");
  const std::string id = member(job->body, "id");
  EXPECT_TRUE(eventually([&] { return member(get(second, "/v1/jobs/" + id), "state") == "done"; }));

  ASSERT_TRUE(ask(first, "PUT", "/v1/queues/orders", "{}"));
  EXPECT_TRUE(eventually([&] {
    return get(second, "/v1/queues").find("\"orders\"") != std::string::npos;
  })) << "a name means the same everywhere";
  stop_all();
}

// A token that was revoked through one node is soon refused by one that nobody asked meanwhile.
TEST_F(NodesOnOneOffice, ATokenThatIsRevokedElsewhereIsRefused) {
  start(0);
  start(1);
  const auto made = ask(0, "POST", "/v1/tokens", R"({"name":"boss","role":"admin"})");
  ASSERT_TRUE(made && made->status == 201) << (made ? made->body : "");
  const auto with = [](const std::string& token) {
    return "Authorization: Bearer " + token + "\r\n" + json_type;
  };
  const std::string boss = with(member(made->body, "secret"));
  ASSERT_TRUE(eventually([&] {
    const auto answer = ask(1, "GET", "/v1/stats", "", boss);
    return answer && answer->status == 200;
  }));
  const auto guest = ask(1, "POST", "/v1/tokens", R"({"name":"guest","role":"reader"})", boss);
  ASSERT_TRUE(guest && guest->status == 201);
  const std::string who = with(member(guest->body, "secret"));
  ASSERT_TRUE(eventually([&] { return ask(0, "GET", "/v1/stats", "", who)->status == 200; }));
  ASSERT_EQ(ask(1, "DELETE", "/v1/tokens/" + member(guest->body, "id"), "", boss)->status / 100, 2);
  EXPECT_TRUE(eventually([&] { return ask(0, "GET", "/v1/stats", "", who)->status == 401; }));
  stop_all();
}

// The leader stands still, as in a debugger or on a machine that swaps: another leads within
// seconds. When it wakes up it finds that out and does nothing twice.
TEST_F(NodesOnOneOffice, ALeaderThatStandsStillIsReplacedAndDoesNothingWhenItWakes) {
  start_all();
  const std::size_t asleep = wait_for_leader();
  const std::size_t awake = other_than(asleep);
  std::string lines;
  for (int i = 0; i < 600; ++i) {
    lines += R"({"source":"orders","error":"timed out","id":")" + std::to_string(i) + "\"}\n";
  }
  ASSERT_EQ(ask(awake, "POST", "/v1/dead-letters", lines, "Content-Type: application/x-ndjson\r\n")
                ->status,
            200);
  const auto planned = ask(awake, "POST", "/v1/jobs",
                           R"({"act":"archive","query":"source:orders","rate":100,"start":true})");
  ASSERT_TRUE(planned && planned->status == 201);
  const std::string job = "/v1/jobs/" + member(planned->body, "id");
  ASSERT_TRUE(eventually([&] { return number(get(awake, job), "ok") > 0; }));

  ASSERT_EQ(::kill(running_[asleep]->pid(), SIGSTOP), 0);
  ports_[asleep].store(0);
  ASSERT_TRUE(eventually([&] { return leader().has_value(); })) << "nobody took over";
  const int before = number(get(awake, job), "ok");
  ASSERT_TRUE(eventually([&] { return number(get(awake, job), "ok") > before; }));
  ASSERT_EQ(::kill(running_[asleep]->pid(), SIGCONT), 0);

  ASSERT_TRUE(eventually([&] { return member(get(awake, job), "state") == "done"; }));
  EXPECT_EQ(number(get(awake, job), "ok"), 600) << get(awake, job);
  EXPECT_EQ(number(get(awake, job), "changed"), 0) << "somebody did some of them twice";
  const std::string url = "http://127.0.0.1:" + std::to_string(ports_[awake].load());
  EXPECT_EQ(run_dlo({"audit", "verify", "--server", url}).code, 0);
  stop_all();
}

}  // namespace
}  // namespace dlo::testing
