#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "support/temporary_directory.h"
#include "unit/api/asking.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/core/sha256.h"

namespace dlo::api {
namespace {

using testing::must;

class AuditTest : public Asking {
 protected:
  void start() override {
    queues_ = must(EmbeddedQueues::open(place_.path(), clock_.now()));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  /// What the newest act of this name said it did.
  std::string detail_of(const std::string& act) {
    std::string detail = "(none)";
    for (const AuditEntry& each : must(office_.extras().ledger->audit(0, 1'000))) {
      if (each.act.act == act) detail = each.act.detail;
    }
    return detail;
  }
  static std::string at(const std::string& json, const std::string& path) {
    HttpResponse told;
    told.body = json;
    return Told{told}.at(path);
  }

  testing::TemporaryDirectory place_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(AuditTest, TagsSayWhichTheyWereAndAre) {
  const std::string id = dead();
  say("PUT", "/v1/dead-letters/" + id + "/tags", R"({"tags":["vip","eu"]})");
  say("PUT", "/v1/dead-letters/" + id + "/tags", R"({"tags":["eu"]})");
  const std::string said = detail_of("tag");
  EXPECT_EQ(at(said, "before.0"), "vip") << said;
  EXPECT_EQ(at(said, "before.1"), "eu");
  EXPECT_EQ(at(said, "after.0"), "eu");
  EXPECT_EQ(at(said, "after.1"), "?");
}

TEST_F(AuditTest, AJobSaysWhichTagsComeAndGo) {
  dead();
  say("POST", "/v1/jobs",
      R"({"act":"tag","query":"source:payments","tags":["vip"],"remove_tags":["eu"]})");
  const std::string said = detail_of("job.plan");
  EXPECT_EQ(at(said, "tags.0"), "vip") << said;
  EXPECT_EQ(at(said, "remove_tags.0"), "eu");
}

TEST_F(AuditTest, ADeclarationSaysWhatTheSettingsWereAndAre) {
  say("PUT", "/v1/queues/orders", R"({"lease_ms":5000})");
  EXPECT_EQ(at(detail_of("declare"), "before"), "?");
  EXPECT_EQ(at(detail_of("declare"), "after.lease_ms"), "5000");
  say("PUT", "/v1/queues/orders", R"({"lease_ms":7000})");
  EXPECT_EQ(at(detail_of("declare"), "before.lease_ms"), "5000") << detail_of("declare");
  EXPECT_EQ(at(detail_of("declare"), "after.lease_ms"), "7000");
}

TEST_F(AuditTest, APauseSaysWhetherItWasOne) {
  say("PUT", "/v1/queues/orders", "{}");
  for (const char* path : {"/v1/queues/orders/", "/v1/sources/orders/"}) {
    ask("POST", std::string(path) + "pause");
    EXPECT_EQ(at(detail_of("pause"), "before.paused"), "false") << path;
    EXPECT_EQ(at(detail_of("pause"), "after.paused"), "true");
    ask("POST", std::string(path) + "pause");
    EXPECT_EQ(at(detail_of("pause"), "before.paused"), "true") << "it was paused already";
    ask("POST", std::string(path) + "resume");
    EXPECT_EQ(at(detail_of("resume"), "before.paused"), "true") << path;
    EXPECT_EQ(at(detail_of("resume"), "after.paused"), "false");
  }
}

TEST_F(AuditTest, AMoveSaysHowMuchWasWaiting) {
  for (const char* name : {"orders", "others"}) {
    say("PUT", std::string("/v1/queues/") + name, "{}");
  }
  ask("POST", "/v1/queues/orders/messages", "x", {{"Content-Type", "text/plain"}});
  say("POST", "/v1/queues/orders/move", R"({"to":"others"})");
  EXPECT_EQ(at(detail_of("move"), "to"), "others");
  EXPECT_EQ(at(detail_of("move"), "ready"), "1");
}

TEST_F(AuditTest, ARecipeSaysByDigestsWhatItWasAndIs) {
  const std::string body = R"({"steps":[{"set":"body.card","value":"1"}]})";
  say("PUT", "/v1/recipes/card", body);
  const std::string first = at(detail_of("recipe"), "after.sha256");
  EXPECT_EQ(first.size(), 64U) << detail_of("recipe");
  EXPECT_EQ(at(detail_of("recipe"), "before"), "?");
  say("PUT", "/v1/recipes/card", R"({"steps":[{"set":"body.card","value":"2"}]})");
  EXPECT_EQ(at(detail_of("recipe"), "before.sha256"), first);
  const std::string second = at(detail_of("recipe"), "after.sha256");
  ask("DELETE", "/v1/recipes/card");
  EXPECT_EQ(at(detail_of("recipe.remove"), "before.sha256"), second);
}

TEST_F(AuditTest, ANoteIsThereAsADigest) {
  const std::string id = dead();
  say("POST", "/v1/dead-letters/" + id + "/notes", R"({"text":"card 4111","by":"ana"})");
  EXPECT_EQ(at(detail_of("note"), "by"), "ana");
  EXPECT_EQ(at(detail_of("note"), "text.sha256"), to_hex(sha256("card 4111")));
  EXPECT_EQ(at(detail_of("note"), "text.bytes"), "9");
}

TEST_F(AuditTest, AnImportSaysWhatCame) {
  const std::string id = dead();
  const std::string letter = get("/v1/dead-letters/" + id).body();
  MemoryOffice other;
  Service service(other, nullptr, clock_, options_);
  HttpRequest request;
  request.method = "POST";
  request.target = "/v1/import";
  request.headers = {{"Content-Type", "application/x-ndjson"}};
  request.body = letter;
  const auto asked = std::make_shared<Asked>();
  service.handle(std::move(request), asked);
  EXPECT_EQ(asked->answer().status, 200);
  const auto entries = must(other.extras().ledger->audit(0, 10));
  ASSERT_FALSE(entries.empty());
  EXPECT_EQ(at(entries.front().act.detail, "source"), "payments") << entries.front().act.detail;
  EXPECT_EQ(at(entries.front().act.detail, "to"), "pending");
}

TEST_F(AuditTest, PoisonThatIsRemovedSaysWhatItWas) {
  say("PUT", "/v1/queues/work", R"({"profile":"durable"})");
  ask("POST", "/v1/queues/work/messages",
      R"({"payload":"in","owner":{"instance":"i1","execution":3}})",
      {{"Content-Type", "application/x-ndjson"}});
  const Told got = ask("POST", "/v1/queues/work/receive");
  say("POST", "/v1/queues/work/settle",
      R"({"outcome":"abandon","force_poison":true,"error_message":"boom","lease":")" +
          got.at("messages.0.lease") + "\"}");
  const std::string id = get("/v1/poison/orchestrations").at("items.0.poison_id");
  EXPECT_EQ(ask("DELETE", "/v1/poison/orchestrations/" + id).at("removed"), "true");
  EXPECT_EQ(at(detail_of("poison.remove"), "to"), "discarding") << detail_of("poison.remove");
  EXPECT_NE(at(detail_of("poison.remove"), "from"), "?");
}

// Whoever looks for what was done needs not read everything.
class AuditFilters : public AuditTest {
 protected:
  /// Numbers of the entries on a page, and where it says to go on.
  std::string page(const std::string& query) {
    const Told told = get("/v1/audit?" + query);
    if (told.status() != 200) return std::to_string(told.status());
    std::string numbers;
    for (int i = 0; told.at("entries." + std::to_string(i) + ".number") != "?"; ++i) {
      numbers += told.at("entries." + std::to_string(i) + ".number") + " ";
    }
    return numbers + "next " + told.at("next");
  }
};

TEST_F(AuditFilters, ChooseByWhoWhatToWhatWhenAndWhetherItWasRefused) {
  const std::string first = dead(R"("id":"1")");                // 1: die
  say("POST", "/v1/dead-letters/" + first + "/archive", "{}");  // 2
  clock_.advance(std::chrono::hours{2});
  const std::string second = dead(R"("id":"2")");                        // 3: die
  say("POST", "/v1/dead-letters/" + second + "/archive", "{}");          // 4
  say("POST", "/v1/dead-letters/" + second + "/archive", "{}");          // 5: refused
  say("POST", "/v1/jobs", R"({"act":"tag","query":"x","tags":["a"]})");  // 6: job.plan
  EXPECT_EQ(page("act=archive"), "2 4 next null");
  EXPECT_EQ(page("act=archive,job.*"), "2 4 6 next null");
  EXPECT_EQ(page("subject=" + second), "3 4 5 next null");
  EXPECT_EQ(page("refused=true"), "5 next null");
  EXPECT_EQ(page("refused=false&act=archive"), "2 4 next null");
  EXPECT_EQ(page("since=1h"), "3 4 5 6 next null");
  EXPECT_EQ(page("until=1h"), "1 2 next null");
  EXPECT_EQ(page("actor=nobody"), "next null");
  EXPECT_EQ(page("order=newest&limit=2"), "6 5 next 5");
  EXPECT_EQ(page("before=5"), "4 3 2 1 next null");
  EXPECT_EQ(page("act=archive&limit=1"), "2 next 2");
  EXPECT_EQ(page("since=yesterday"), "400");
  EXPECT_EQ(page("order=newest&after=3"), "400");
}

TEST_F(AuditFilters, PassOverALongTrailPageByPage) {
  std::vector<Change> many;
  for (int i = 0; i < 45'000; ++i) {
    many.emplace_back(AddAudit{clock_.now(), i == 44'999 ? "ana" : "bo", "look", "x", "{}"});
  }
  must(office_.apply(many));
  EXPECT_EQ(page("actor=ana"), "next 20000") << "so many are looked at by one request";
  EXPECT_EQ(page("actor=ana&after=40000"), "45000 next null");
  EXPECT_EQ(page("actor=ana&order=newest&limit=1"), "45000 next 45000");
}

TEST_F(AuditTest, ABulkActSaysWhatTheyWereAndAre) {
  const std::string first = dead(R"("id":"1")");
  dead(R"("id":"2")");
  say("POST", "/v1/dead-letters/" + first + "/quarantine", "{}");
  const std::string job =
      say("POST", "/v1/jobs", R"({"act":"archive","query":"source:payments","start":true})")
          .at("job.id");
  const auto done = [&] { return get("/v1/jobs/" + job).at("job.state") == "done"; };
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!done() && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  ASSERT_TRUE(done());
  const std::string said = detail_of("archive");
  EXPECT_EQ(at(said, "count"), "2") << said;
  EXPECT_EQ(at(said, "moves.0.from") + at(said, "moves.0.to"), "pendingarchived") << said;
  EXPECT_EQ(at(said, "moves.1.from") + at(said, "moves.1.to"), "quarantinedarchived") << said;
}

}  // namespace
}  // namespace dlo::api
