// A program asks before it retries; the office counts, and a kill costs no count and makes no
// second dead letter (S1-9..11, S1-25..32).
#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <signal.h>
#include <string>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"
#include "unit/handlers/loopback_server.h"

namespace dlo::testing {
namespace {

const std::string json = "Content-Type: application/json\r\n";

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class RetriesAskedFor : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return place_.path() + "/" + name; }
  void configure(const std::string& entities) const {
    std::ofstream(file("dlo.yaml"))
        << "data: " << file("office") << "\nserver: {listen: '127.0.0.1:0'}\n"
        << entities;
  }
  void serve() {
    server_ =
        std::make_unique<Running>(std::vector<std::string>{"serve", "--config", file("dlo.yaml")});
    port_ = port_in(server_->read_until("/healthz"));
    client_ = std::make_unique<HttpClient>(port_);
  }
  void kill_and_serve() {
    EXPECT_EQ(server_->stop(SIGKILL), -SIGKILL);
    serve();
  }
  void add(const std::string& id) {
    const auto told = client_->ask("PUT", "/v1/entities/payment/" + id,
                                   R"({"data":{"BookingId":"b-1","Amount":12.50},)"
                                   R"("error":"card declined"})",
                                   json);
    ASSERT_EQ(told.status, 201) << told.body;
  }
  auto retry(const std::string& id, const std::string& key = "") {
    return client_->ask("POST", "/v1/entities/payment/" + id + "/retries", "{}",
                        json + (key.empty() ? "" : "Idempotency-Key: " + key + "\r\n"));
  }
  std::string entity(const std::string& id) {
    return client_->ask("GET", "/v1/entities/payment/" + id).body;
  }
  std::size_t dead(const std::string& id) {
    const auto listed = client_->ask("GET", "/v1/dead-letters?q=message:" + id).body;
    return times(listed, R"("source":"payment_retry")");
  }

  const TemporaryDirectory place_;
  std::unique_ptr<Running> server_;
  std::uint16_t port_ = 0;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(RetriesAskedFor, NoCountIsLostWhenTheServerIsKilledBetweenCalls) {
  configure("");
  serve();
  add("7");
  for (const char* count : {"1", "2", "3"}) {
    EXPECT_TRUE(retry("7").has(R"("retry_count":)" + std::string(count)));
    kill_and_serve();
  }
  const auto last = retry("7");
  EXPECT_EQ(last.status, 200);
  EXPECT_TRUE(last.has("PERMANENTLY_FAILED")) << last.body;
  kill_and_serve();
  EXPECT_EQ(retry("7").status, 409);
  EXPECT_EQ(dead("7"), 1U);
  EXPECT_EQ(retry("8").status, 404);
  EXPECT_TRUE(retry("8").has("Payment 8 not found"));
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

// Killed in the middle of a call, before it was done or when it was done and not answered: whoever
// repeats it under the same key finds three retries and one dead letter.
TEST_F(RetriesAskedFor, AKillInTheMiddleOfACallCountsItOnceOrNotAtAll) {
  configure("");
  serve();
  for (int round = 0; round < 8; ++round) {
    const std::string id = "p" + std::to_string(round);
    add(id);
    for (int call = 0; call < 4; ++call) {
      const std::string key = id + "-" + std::to_string(call);
      if (call == round % 4) {
        const std::string before = entity(id);
        const auto cut_off = std::make_unique<HttpClient>(port_);
        cut_off->send("POST /v1/entities/payment/" + id +
                      "/retries HTTP/1.1\r\nHost: localhost\r\n" + json +
                      "Idempotency-Key: " + key + "\r\nContent-Length: 2\r\n\r\n{}");
        const bool is_done = round < 4 || eventually([&] { return entity(id) != before; });
        ASSERT_TRUE(is_done);
        kill_and_serve();
      }
      const auto told = retry(id, key);
      ASSERT_EQ(told.status, 200) << told.body;
    }
    const std::string now = entity(id);
    EXPECT_NE(now.find(R"("status":"PERMANENTLY_FAILED","retry_count":3)"), std::string::npos)
        << now;
    EXPECT_EQ(dead(id), 1U);
  }
}

// The owner does not answer, the server is killed, and the owner hears of it after all: of one
// death, under one key, signed.
TEST_F(RetriesAskedFor, AnOwnerHearsOfADeathAlthoughTheServerWasKilled) {
  std::atomic<bool> answers{false};
  LoopbackServer owner([&](const Request&) {
    if (!answers) return Reply{"", Reply::Then::hang};
    return Reply{http(200, "", "")};
  });
  std::ofstream(file("secret")) << "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n";
  configure("entities: {payment: {limit: 1, effect: {http: '" + owner.url("/dead") +
            "', secret_file: " + file("secret") + "}}}\n");
  serve();
  add("7");
  EXPECT_EQ(retry("7").status, 200);
  const auto last = retry("7");
  EXPECT_TRUE(last.has("PERMANENTLY_FAILED")) << "whoever calls does not wait for the owner";
  ASSERT_TRUE(eventually([&] { return owner.requests().size() == 1; }));
  EXPECT_NE(entity("7").find(R"("effect":{"state":"pending")"), std::string::npos);
  answers = true;
  kill_and_serve();
  ASSERT_TRUE(eventually([&] {
    return entity("7").find(R"("effect":{"state":"applied")") != std::string::npos;
  })) << entity("7");
  const auto heard = owner.requests();
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(heard[0].header("idempotency-key"), heard[1].header("idempotency-key"));
  EXPECT_NE(last.body.find(heard[1].header("idempotency-key")), std::string::npos)
      << "it is the id of the dead letter";
  EXPECT_NE(heard[1].header("webhook-signature"), "<none>");
  EXPECT_NE(heard[1].body.find(R"("status":"PERMANENTLY_FAILED")"), std::string::npos);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(RetriesAskedFor, TheCommandLineSaysWhetherToGoAhead) {
  const std::string data = file("alone");
  const std::vector<std::string> at{"--data", data};
  const auto dlo = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "entity");
    words.insert(words.end(), at.begin(), at.end());
    return run_dlo(words);
  };
  ASSERT_EQ(run_dlo({"report", "--source", "x", "--error", "y", "--data", data}).code, 0);
  EXPECT_EQ(dlo({"show", "payment", "7"}).code, 4);
  const Ended added = dlo(
      {"register", "payment", "7", "--error", "card declined", "--json", R"({"Amount":12.50})"});
  ASSERT_EQ(added.code, 0) << added.err;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(dlo({"retry", "payment", "7"}).code, 0);
  const Ended over = dlo({"retry", "payment", "7"});
  EXPECT_EQ(over.code, 1) << "not to go ahead";
  EXPECT_NE(over.out.find("PERMANENTLY_FAILED"), std::string::npos) << over.out << over.err;
  EXPECT_EQ(dlo({"retry", "payment", "7"}).code, 1);
  const auto ids = run_dlo({"list", "source:payment_retry", "-o", "id", "--data", data}).out;
  const Ended shown = run_dlo({"show", ids.substr(0, ids.find('\n')), "--data", data});
  EXPECT_NE(shown.out.find("caused by       card declined"), std::string::npos) << shown.out;
  EXPECT_EQ(dlo({"reopen", "payment", "7", "--notes", "new card"}).code, 0);
  EXPECT_EQ(dlo({"retry", "payment", "7"}).code, 0);
  EXPECT_EQ(dlo({"remove", "payment", "7"}).code, 0);
  EXPECT_EQ(dlo({"show", "payment", "7"}).code, 4);
}

}  // namespace
}  // namespace dlo::testing
