#include <gtest/gtest.h>
#include <string>

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

}  // namespace
}  // namespace dlo::api
