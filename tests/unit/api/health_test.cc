// What those who watch a server are told of its queues.
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "support/eventually.h"
#include "support/fault_file_system.h"
#include "support/must.h"
#include "unit/api/asking.h"
#include "unit/engine/faults.h"

#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/store/passing_office.h"

namespace dlo::api {
namespace {

using testing::eventually;
using testing::FaultFileSystem;
using testing::must;

class HealthTest : public Asking {
 protected:
  void start() override {
    EmbeddedOptions options;
    options.checkpoint_every = 4096;
    options.journal.segment_size = 64U << 10U;
    queues_ = must(EmbeddedQueues::open(disk_, clock_.now(), options));
    service_ = std::make_unique<Service>(office_, queues_.get(), clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  void fail(FaultFileSystem::Op failing, const std::string& prefix, Code code) {
    disk_.set_fault([=](FaultFileSystem::Op op, const std::string& name) {
      const bool fails = op == failing && name.starts_with(prefix);
      return fails ? std::optional(code) : std::nullopt;
    });
  }
  Told sent() {
    return ask("POST", "/v1/queues/orders/messages", std::string(1000, 'x'),
               {{"Content-Type", "text/plain"}});
  }
  int send() { return sent().status(); }

  FaultFileSystem disk_;
  std::unique_ptr<EmbeddedQueues> queues_;
};

TEST_F(HealthTest, QueuesThatTakeNothingMoreAreUnavailable) {
  say("PUT", "/v1/queues/orders", "{}");
  EXPECT_EQ(get("/readyz").at("status"), "ok");
  fail(FaultFileSystem::Op::sync, "", Code::unavailable);
  EXPECT_GE(send(), 500);
  disk_.set_fault({});  // it stays so until they are opened anew
  for (const char* path : {"/healthz", "/readyz"}) {
    const Told told = get(path);
    EXPECT_EQ(told.status(), 503) << path;
    EXPECT_EQ(told.at("status"), "queues unavailable");
  }
}

TEST_F(HealthTest, QueuesWhoseCheckpointsFailAreInTroubleAndWork) {
  say("PUT", "/v1/queues/orders", "{}");
  fail(FaultFileSystem::Op::open, "checkpoint", Code::disk_full);
  ASSERT_TRUE(eventually([&] {
    EXPECT_LT(send(), 300);
    return get("/healthz").at("status") == "queues in trouble";
  }));
  EXPECT_EQ(get("/healthz").status(), 200);
  EXPECT_EQ(get("/readyz").status(), 200);
  disk_.set_fault({});
  EXPECT_TRUE(eventually([&] {
    EXPECT_LT(send(), 300);
    return get("/healthz").at("status") == "ok";
  }));
}

TEST_F(HealthTest, QueuesOnAFullDiskSayWhatOfficesOnOneSay) {  // R20
  say("PUT", "/v1/queues/orders", "{}");
  fail(FaultFileSystem::Op::open, "", Code::disk_full);
  Told told = sent();
  for (int i = 0; i < 1000 && told.status() < 300; ++i) told = sent();
  EXPECT_EQ(told.status(), 503) << told;
  EXPECT_EQ(told.at("code"), "disk_full");
  EXPECT_EQ(told.header("Retry-After"), "10");
}

/// An office whose writes fail when told to.
class OfficeHealthTest : public Asking {
 protected:
  void start() override {
    options_.on_office_trouble = [this](const std::optional<Error>& trouble) {
      const std::lock_guard lock(mutex_);
      log_.push_back(trouble ? trouble->detail : "well");
    };
    service_ = std::make_unique<Service>(flaky_, nullptr, clock_, options_);
  }
  void TearDown() override { service_.reset(); }
  std::string health() { return get("/healthz").at("status"); }
  int report() {
    return say("POST", "/v1/dead-letters", R"({"source":"orders","error":"boom"})").status();
  }

  std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  std::atomic<std::optional<Code>> fault_{std::nullopt};
  std::mutex mutex_;
  std::vector<std::string> log_;
  static bool is_small(std::span<const Change> changes) {
    for (const Change& change : changes) {
      if (const auto* append = std::get_if<Append>(&change)) {
        const auto& payload = append->record->message->payload;
        if (payload && payload->size() > 10'000) return false;
      }
      const auto* document = std::get_if<PutDocument>(&change);
      if (document != nullptr && document->body && document->body->size() > 10'000) return false;
    }
    return true;
  }
  std::atomic<bool> lets_small_ones_pass_{false};
  std::atomic<bool> only_empty_lists_fail_{false};
  testing::FlakyOffice flaky_{office_,
                              [this](std::span<const Change> changes) -> std::optional<Error> {
                                const auto met = fault_.load();
                                if (!met) return std::nullopt;
                                if (only_empty_lists_fail_ && !changes.empty()) return std::nullopt;
                                if (lets_small_ones_pass_ && is_small(changes)) return std::nullopt;
                                return Error{*met, "disk", "no luck with the disk"};
                              }};
};

TEST_F(OfficeHealthTest, AnOfficeThatCannotWriteIsInTroubleUntilItCan) {
  EXPECT_EQ(report(), 201);
  fault_ = Code::unavailable;
  EXPECT_GE(report(), 500);
  EXPECT_GE(report(), 500);
  EXPECT_EQ(health(), "office in trouble");
  EXPECT_EQ(get("/healthz").status(), 200) << "a restart would not help";
  EXPECT_EQ(get("/readyz").status(), 503);
  fault_ = std::nullopt;
  EXPECT_EQ(get("/readyz").at("status"), "ok") << "though nobody wrote";
  EXPECT_EQ(health(), "ok");
  EXPECT_EQ(log(), (std::vector<std::string>{"no luck with the disk", "well"})) << "once each";
}

TEST_F(OfficeHealthTest, WhatCannotBeWrittenIsToldWithTheCallersError) {  // S2-16, R2-10
  fault_ = Code::unavailable;
  const std::string task = R"({"source":"w","profile":"workflow+safe","error":"card expired"})";
  for (const Headers& headers : {Headers{}, Headers{{"Idempotency-Key", "k1"}}}) {
    const Told told = say("POST", "/v1/dead-letters", task, headers);
    EXPECT_EQ(told.status(), 503) << told;
    EXPECT_EQ(told.at("code"), "unavailable");
    EXPECT_EQ(told.at("error"), "card expired");
  }
  const Told lines =
      ask("POST", "/v1/dead-letters", task + "\n", {{"Content-Type", "application/x-ndjson"}});
  EXPECT_EQ(lines.status(), 207);
  EXPECT_TRUE(lines.says(R"("status":503,"code":"unavailable")")) << lines;
  EXPECT_TRUE(lines.says(R"("error":"card expired")")) << lines;
  fault_ = std::nullopt;
  EXPECT_EQ(get("/v1/stats").at("open"), "0") << "no phantom";
}

TEST_F(OfficeHealthTest, ABatchThatTheServerIsTooBusyForKeepsEveryCallersError) {  // S2-16
  EXPECT_EQ(report(), 201);
  service_->stop();  // no thread takes anything in
  const Told lines = ask("POST", "/v1/dead-letters",
                         "{\"source\":\"w\",\"error\":\"card expired\"}\n{\n"
                         "{\"source\":\"w\",\"failure\":{\"text\":\"no funds\"}}\n",
                         {{"Content-Type", "application/x-ndjson"}});
  EXPECT_EQ(lines.status(), 207) << lines;
  EXPECT_TRUE(lines.says(R"({"line":1,"status":503,"code":"unavailable")")) << lines;
  EXPECT_TRUE(lines.says(R"("error":"card expired")")) << lines;
  EXPECT_TRUE(lines.says(R"({"line":2,"status":400)")) << lines;
  EXPECT_TRUE(lines.says(R"("error":"no funds")")) << lines;
  const Told one =
      say("POST", "/v1/dead-letters", R"({"source":"w","failure":{"text":"no funds"}})");
  EXPECT_EQ(one.status(), 503) << one;
  EXPECT_EQ(one.at("error"), "no funds");
}

TEST_F(OfficeHealthTest, AServerWithoutRoomAsksForNoMoreUntilThereIsSome) {
  fault_ = Code::disk_full;
  EXPECT_EQ(say("POST", "/v1/dead-letters", R"({"source":"orders","error":"boom"})",
                {{"Idempotency-Key", "k"}})
                .status(),
            503);
  EXPECT_EQ(get("/readyz").at("status"), "full");
  EXPECT_EQ(get("/healthz").status(), 200) << "it lives, and a restart would not help";
  fault_ = std::nullopt;
  EXPECT_EQ(get("/readyz").status(), 200) << "nobody reported since, and it knows all the same";
}

TEST_F(OfficeHealthTest, AFullDiskIsToldAlikeOnEveryRoute) {  // R20
  fault_ = Code::disk_full;
  const std::vector<std::pair<std::string, std::string>> writes = {
      {"/v1/dead-letters", R"({"source":"orders","error":"boom"})"},
      {"/v1/dead-letters", R"({"source":"orders","profile":"workflow+safe","error":"boom"})"},
      {"/v1/jobs", R"({"act":"archive","query":"source:orders"})"},
      {"/v1/tokens", R"({"name":"mine","role":"reader"})"}};
  for (const auto& [path, body] : writes) {
    const Told told = say("POST", path, body);
    EXPECT_EQ(told.status(), 503) << path << told;
    EXPECT_EQ(told.at("code"), "disk_full") << path;
    EXPECT_EQ(told.header("Retry-After"), "10") << path;
  }
}

TEST_F(OfficeHealthTest, ADamagedOfficeStaysDamaged) {
  fault_ = Code::corrupt;
  EXPECT_GE(report(), 500);
  fault_ = std::nullopt;
  EXPECT_EQ(report(), 201);
  EXPECT_EQ(health(), "office damaged");
  EXPECT_EQ(get("/readyz").status(), 503);
}

TEST_F(OfficeHealthTest, DamageThatNobodyAskedForIsDamageToo) {  // its own threads have met it
  EXPECT_EQ(health(), "ok");
  only_empty_lists_fail_ = true;  // nobody has written anything since
  fault_ = Code::corrupt;
  EXPECT_EQ(health(), "office damaged");
  EXPECT_EQ(get("/healthz").status(), 503);
  EXPECT_EQ(log().size(), 1U) << "and is said once";
}

/// Its pages cannot be read any more.
class HurtOffice final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;
  Result<Aggregate> aggregate(const AggregateRequest&) override {
    return Error{Code::corrupt, "test", "a page is noise"};
  }
};

TEST_F(OfficeHealthTest, DamageThatIsMetByLookingIsCalledDamage) {
  HurtOffice hurt(office_);
  service_ = std::make_unique<Service>(hurt, nullptr, clock_, options_);
  EXPECT_EQ(health(), "office damaged");
  EXPECT_EQ(get("/readyz").at("status"), "office damaged");
  service_.reset();
}

TEST_F(OfficeHealthTest, ADiskThatIsFullForWhatIsLargeIsFull) {
  lets_small_ones_pass_ = true;
  fault_ = Code::disk_full;
  const std::string large =
      R"({"source":"orders","error":"boom","payload":")" + std::string(20'000, 'x') + "\"}";
  for (int i = 0; i < 3; ++i) {
    const Told refused = say("POST", "/v1/dead-letters", large);
    EXPECT_EQ(refused.status(), 503) << refused;
    EXPECT_EQ(refused.at("code"), "disk_full");
    EXPECT_EQ(report(), 201);
    EXPECT_EQ(get("/readyz").at("status"), "full");
    EXPECT_EQ(health(), "office in trouble");
  }
  EXPECT_EQ(log().size(), 1U) << "not by turns";
  fault_ = std::nullopt;
  EXPECT_EQ(report(), 201);
  EXPECT_EQ(log().size(), 1U) << "that one is small";
  EXPECT_EQ(get("/readyz").at("status"), "ok");
  EXPECT_EQ(log(), (std::vector<std::string>{"no luck with the disk", "well"}));
}

TEST_F(OfficeHealthTest, WhatCallersDoWrongIsNoTrouble) {
  fault_ = Code::conflict;
  EXPECT_GE(report(), 400);
  EXPECT_EQ(health(), "ok");
}

}  // namespace
}  // namespace dlo::api
